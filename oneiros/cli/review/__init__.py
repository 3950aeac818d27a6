"""What a person decides at a terminal: the review, what they say or wrote down, and how topics are arranged."""
