"""What the page and its views are given by the daemon."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crawler.archive.store import Archive
from dream.decisions.accept import Decisions
from dream.decisions.page import PageSessions
from memory_server.faces.door import IndexingState
from memory_server.memory import Memory
from oneiros.environment import Environment


@dataclass(frozen=True, slots=True)
class Running:
    """What only the process that serves knows and does."""

    environment: Environment  # the person's settings as they were at first: a `replace` of it reads them anew
    status: Callable[[], Mapping[str, Any]]  # as `oneiros status --json` tells it
    indexing: Callable[[], IndexingState]
    poke: Callable[..., object]  # something may have changed on the disk; of `Indexing`, with its options
    spent: Callable[[], float]  # dollars of today
    trainers: Callable[[], Sequence[str]]  # their names
    trainer: Callable[[str], Mapping[str, Any]]  # one look at one of them, within seconds, without its token


@dataclass(frozen=True, slots=True)
class ServedMemory:
    """One memory, as the daemon serves it."""

    memory: Memory
    archive: Archive
    decisions: Callable[[], Decisions]  # with the person's present settings
    pages: PageSessions
    running: Running
