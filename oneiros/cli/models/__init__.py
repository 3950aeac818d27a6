"""Models, at a terminal."""
