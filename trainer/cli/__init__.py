"""The trainer's command line, a file a command group; it reads the environment and prints, the rest does not."""
