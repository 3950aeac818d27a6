"""What a person decides at a terminal: the review, what they say directly, and how topics are arranged."""
