"""The guard in front of an assistant's tools, on the standard library alone."""
