"""The layers of a memory root: what files there are, how each is read, and whether it is as it should be."""
