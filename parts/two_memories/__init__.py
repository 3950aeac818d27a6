"""Inside a project that has a memory of its own: the account's memory answers beside it."""
