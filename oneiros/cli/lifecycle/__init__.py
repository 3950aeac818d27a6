"""Commands of a memory over years: what fades, what is kept, pruned, backed up and restored."""
