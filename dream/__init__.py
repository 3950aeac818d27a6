"""Turns what was said in sessions into small changes of topics, which a person accepts or rejects."""
