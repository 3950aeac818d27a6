"""Where a line of a topic is from, and why a hunk is proposed."""
