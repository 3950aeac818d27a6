"""Measures what users would feel, prints what it was measured on, and keeps the figures that disappoint."""

import memory_server  # noqa: F401  switches telemetry off before a benchmark imports a library
