"""A key of the person's, which signs what they decide."""
