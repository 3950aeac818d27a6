"""`chat`: talks with the memory in a terminal."""
