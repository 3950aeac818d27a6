"""Who asks, read off a verified token, and how much they may ask."""
