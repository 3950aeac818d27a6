"""One memory root: its paths, the state of the person that belongs to it, and what holds before it is written."""
