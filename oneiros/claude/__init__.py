"""What oneiros knows of Claude Code's own files: setup with the plugin, and checks."""
