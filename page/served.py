"""What the page is given by whoever serves it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chat.turn import Chat
from crawler.archive.store import Archive
from dream.decisions.accept import Decisions
from dream.decisions.page import PageSessions
from memory_server.faces.indexing import IndexingState
from memory_server.memory import Memory
from memory_server.settings import PersonSettings


@dataclass(frozen=True, slots=True)
class Running:
    """What only the process that serves knows and does."""

    standing: Callable[[], Mapping[str, Any]]  # as `oneiros status --json` tells it
    indexing: Callable[[], IndexingState]
    poke: Callable[[], object]  # something may have changed on the disk
    chat: Callable[[], Chat]  # with the person's present settings
    spent: Callable[[], float]  # dollars of today
    trainers: Callable[[], Sequence[str]]  # their names
    trainer: Callable[[str], Mapping[str, Any]]  # one look at one of them, within seconds, without its token
    settings: Callable[[], PersonSettings]  # as the file has them now
    settings_file: Path
    person_settings: frozenset[str]  # keys that change at a terminal alone
    change: Callable[[str, str], None]  # a free setting, as it is typed; raises UsageError for any other


@dataclass(frozen=True, slots=True)
class ServedMemory:
    """One memory, as the daemon serves it."""

    memory: Memory
    archive: Archive
    decisions: Callable[[], Decisions]  # with the person's present settings
    pages: PageSessions
    running: Running
