"""Who asks: the scope that a verified token carries, and how much it may ask."""
