"""A team's memory on PostgreSQL: the arms of memory_server on another engine, a server, and git as the truth."""
