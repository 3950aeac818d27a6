"""Answers with a base and its adapter, and the HTTP service around it."""
