"""Who reads sessions, at a terminal."""
