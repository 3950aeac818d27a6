"""The commands of `oneiros`, a file a command group."""
