"""Scores a tuned model against its base and against retrieval, and decides whether it may be served."""
