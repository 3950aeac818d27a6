"""Layers, chunks, embedding, indices, search, and the MCP tools over them."""

from memory_server.machine.telemetry import switch_telemetry_off

# The libraries look while they are imported, some of them where no Python sees it: so in front of every module here.
switch_telemetry_off()
