"""`import`, `skills` and `export`."""
