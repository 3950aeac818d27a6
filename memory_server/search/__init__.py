"""Turns a question into ranked hits."""
