"""The faces over `Memory`: MCP and REST, the guard before them, and answers as text."""
