"""The team's server: MCP and REST behind one gate, and what its operators watch."""
