"""One reading of a session: what it was for, how it ended, and what it says that holds beyond it."""
