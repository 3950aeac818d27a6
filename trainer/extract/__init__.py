"""Turns documents into chunks of about 800 tokens with their source and page."""
