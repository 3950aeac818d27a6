"""Other memories on the questions of `benchmarks.answers`, each from its own package and through its own door."""
