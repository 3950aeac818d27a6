"""What a person decides at a terminal: the review, and what they say."""
