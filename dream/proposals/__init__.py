"""Proposals: hunks, where they go, how they are stored and shown."""
