"""The ways to a model, a file each; `table.py` lists them."""
