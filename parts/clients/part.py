"""What the other clients bring: how `oneiros setup --client` gives this memory to each."""

from collections.abc import Mapping
from pathlib import Path

from oneiros.parts import McpClient, Part


def part() -> Part:
    """Clients beside Claude Code."""
    return Part("clients", clients=_build_clients)


def _build_clients(home: Path, variables: Mapping[str, str]) -> Mapping[str, McpClient]:
    from parts.clients.table import build_clients

    return build_clients(home, variables)
