"""The judge: what a candidate must pass, and how it stands to what the topics say."""
