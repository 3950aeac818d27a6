"""Topics renamed, joined, cut, retired and tidied."""
