"""The trainers that serve a model of this memory, at a terminal."""
