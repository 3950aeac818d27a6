"""What the other agents bring: readers of their conversations, and what doctor says of them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from oneiros.parts import Part

if TYPE_CHECKING:
    from crawler.sources.agent import AgentSource
    from memory_server.root.paths import MemoryRoot
    from oneiros.checks import Check
    from oneiros.environment import Environment


def part() -> Part:
    """Conversations of other agents."""
    return Part("agents", sources=_sources, checks=(("agents", _check_agents),))


def _sources() -> "tuple[AgentSource, ...]":
    from parts.agents.table import SOURCES

    return tuple(SOURCES.values())


def _check_agents(environment: "Environment", root: "MemoryRoot") -> "Iterator[Check]":
    from parts.agents.checks import check_agents

    return check_agents(environment, root)
