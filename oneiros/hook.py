"""Where the plugin of version 0.1 looks for the hook: a client keeps its copy of a plugin when the program is upgraded."""

from oneiros.light.hook import run

__all__ = ["run"]
