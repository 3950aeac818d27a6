"""What plugs into the core and may be left out: a folder a part, listed in `table.py`."""
