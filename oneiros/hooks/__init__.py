"""What the daemon answers to the hooks of Claude Code: a file an event, put together in `dispatch.py`."""
