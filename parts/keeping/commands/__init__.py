"""`gc`, `keep`, `archive` and `backup`."""
