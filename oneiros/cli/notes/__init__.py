"""Notes, taken in and looked after by a person."""
