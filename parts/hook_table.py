"""What parts bring to the hook of Claude Code, which cannot afford `table.py`: on the standard library alone."""

from parts.guard.protected import reason_to_deny

__all__ = ["reason_to_deny"]
