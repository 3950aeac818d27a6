"""Turns transcripts into small diffs that a person accepts or rejects."""
