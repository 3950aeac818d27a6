"""Where the plugin of version 0.1 looks for the hook: a client keeps its copy of a plugin after an upgrade."""

from oneiros.light.hook import run

__all__ = ["run"]
