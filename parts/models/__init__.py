"""Which models there are, what another one would answer, and which one makes the vectors."""
