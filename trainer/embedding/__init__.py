"""Teaches the small embedding model: questions and the passages that answer them become weights."""
