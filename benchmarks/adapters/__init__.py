"""Ways into benchmarks of others: an adapter for each, and what of it can be tried without them."""
