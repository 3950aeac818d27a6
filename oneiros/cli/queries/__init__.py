"""The log of questions, at a terminal."""
