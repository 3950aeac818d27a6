"""A talk with one's memory: what is found goes before a model, and what the model cites is looked up again."""
