"""Tells what a piece of text does: asserts, asks, supposes, quotes, forbids; and what values it holds."""
