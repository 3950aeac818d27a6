"""Makes vectors of text: which model, on which engine, with how many pinned workers, and a cache of what was made."""
