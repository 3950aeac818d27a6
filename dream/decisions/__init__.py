"""What a person decides, and what is written because of it."""
