"""What an operator types, a module a group of commands; each adds its own to the program."""
