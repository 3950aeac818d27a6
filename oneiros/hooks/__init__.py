"""What the daemon answers to the hooks of Claude Code."""
