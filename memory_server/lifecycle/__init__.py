"""What becomes of sources over time: how they are used, how strong they are, and how much the indices hold of them."""
