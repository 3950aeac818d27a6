"""What a face asks: a memory, or what answers for it where the account's memory stands beside a project's; and whoever
keeps the indices level, for its state, a run, a wait.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from memory_server.document import Answer
from memory_server.index.build import Report
from memory_server.reading import SourceText
from memory_server.search.question import Question


class Door(Protocol):
    """Searches and reads, as `Memory` does by itself."""

    def search(self, question: Question) -> Answer: ...

    def read(
        self, name: str, first: int | None = None, last: int | None = None, *, with_tools: bool = False
    ) -> SourceText: ...

    def read_session(self, name: str, depth: str, first: int = 1) -> str: ...


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
