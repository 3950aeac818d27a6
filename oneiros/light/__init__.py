"""The small programs that are started with every session and hook: the standard library alone."""
