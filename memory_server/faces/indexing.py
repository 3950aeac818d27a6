"""What a face may know and ask of whoever keeps the indices level: its state, a run, a wait."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from memory_server.index.build import Report

FRESH_SECONDS = 3.0  # how long a question waits for what was just written


@dataclass(frozen=True, slots=True)
class IndexingState:
    """What is being indexed, and by how much."""

    stage: str  # waiting (for the root), idle, reading, embedding, indexing
    progress: int = 0
    total: int = 0
    owns_root: bool = False
    runs: int = 0
    error: str = ""  # of the last run, as a sentence
    paused: bool = False
    model: str = ""
    next_model: str = ""  # empty where no change of model is under way
    watching: str = ""  # how changes are seen: events, or polling and why
    share: float = 0.0
    cores: tuple[int, ...] = ()  # those at work, one worker each
    semantic: str = ""  # what answers a question by meaning
    looks: Mapping[str, int] = field(default_factory=dict)  # for what is near, how many by `chromadb` and by `scan`


class Indexing(Protocol):
    """Keeps the indices of one memory level."""

    def poke(self, *, rebuild: bool = False, anyway: bool = False) -> int:
        """Asks for a run; a ticket for `wait`."""
        ...

    def wait(self, ticket: int, seconds: float) -> bool:
        """Waits for a run that began after the ticket; false where time runs out."""
        ...

    def state(self) -> IndexingState: ...

    @property
    def last_report(self) -> Report | None:
        """Of the last run."""
        ...
