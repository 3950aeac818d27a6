"""The archive of redacted entries: what is taken in, from where, and how it is appended."""
