"""What oneiros knows of Claude Code's own files: setup, checks, the plugin."""
