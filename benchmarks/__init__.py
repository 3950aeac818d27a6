"""Measures what users would feel, prints what it was measured on, and keeps the figures that disappoint."""
