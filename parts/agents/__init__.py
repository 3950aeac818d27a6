"""Reads the conversations of other agents into the entries that Claude Code's transcripts become: a file an agent."""
