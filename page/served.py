"""What the page is given by whoever serves it."""

from collections.abc import Callable
from dataclasses import dataclass

from crawler.archive.store import Archive
from dream.decisions.accept import Decisions
from dream.decisions.page import PageSessions
from memory_server.memory import Memory


@dataclass(frozen=True, slots=True)
class ServedMemory:
    """One memory, as the daemon serves it."""

    memory: Memory
    archive: Archive
    decisions: Callable[[], Decisions]  # with the person's present settings
    pages: PageSessions
