"""Reads what is written down: cuts Markdown files into statements, and leaves out what says the same twice."""
