"""Transcripts as Claude Code writes them, read into typed turns."""
