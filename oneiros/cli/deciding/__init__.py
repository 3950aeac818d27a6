"""Commands by which statements come to be decided about."""
