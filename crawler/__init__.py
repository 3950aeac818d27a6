"""Reads transcripts and project files in, and writes archives and compressed sessions."""
