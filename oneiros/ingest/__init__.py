"""Ingest of sessions, and forgetting them, as this person has set it up."""
