"""What a sentence says: its clauses, what they do, the values and words in them."""
