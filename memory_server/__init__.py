"""Layers, chunks, embedding, indices, search, and the MCP tools over them."""
