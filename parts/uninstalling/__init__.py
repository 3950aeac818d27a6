"""How oneiros goes again."""
