"""What the daemon hands to parts, and what the core asks of them: what reaches other machines, and another memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypedDict

from memory_server.faces.door import Door

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import ExitStack
    from datetime import datetime

    from crawler.archive.append import IngestLimits, IngestSettings
    from crawler.archive.discovery import FoundFile
    from crawler.archive.store import Archive
    from crawler.ingest import IngestReport
    from crawler.references import ReferenceSource, SentFiles
    from dream.decisions.accept import Decisions
    from dream.decisions.page import PageSessions
    from memory_server.document import Answer
    from memory_server.faces.indexing import Indexing
    from memory_server.memory import Memory
    from memory_server.root.paths import MemoryRoot
    from memory_server.search.question import Question
    from oneiros.environment import Environment

Take: TypeAlias = "Callable[[IngestSettings, Sequence[FoundFile]], IngestReport]"


@dataclass(frozen=True, slots=True)
class Running:
    """What only the process that serves knows and does."""

    environment: Environment  # the person's settings as they were at first: a `replace` of it reads them anew
    status: Callable[[], Mapping[str, Any]]  # as `oneiros status --json` tells it
    indexing: Indexing
    spent: Callable[[], float | None]  # dollars of today; None where that cannot be read, as the status says


@dataclass(frozen=True, slots=True)
class ServedMemory:
    """One memory, as the daemon serves it."""

    memory: Memory
    archive: Archive
    decisions: Callable[[], Decisions]  # with the person's present settings
    pages: PageSessions
    running: Running


class MachineState(TypedDict):
    """How another machine stood when it was last seen, as the status tells it. Times are ISO 8601, or empty."""

    name: str
    id: str  # empty before it was seen
    url: str
    error: str  # of the last visit; empty where it went well
    tried: str
    seen: str
    noise: str  # what it says before it answers
    transcripts: int
    expiring: int  # of these, those that the client there deletes this week


class OtherMachines(Protocol):
    """The machines that the settings name."""

    def name_machines(self, environment: Environment) -> list[str]:
        """Their names. Raises UsageError where two have one."""

    def fetch_sessions(
        self, environment: Environment, root: MemoryRoot, names: Sequence[str], take: Take, limits: IngestLimits
    ) -> Iterator[IngestReport]:
        """Has what is new of their transcripts taken in, machine by machine."""

    def fetch_references(
        self, environment: Environment, root: MemoryRoot, sources: Sequence[ReferenceSource], mirrors: ExitStack
    ) -> tuple[dict[str, SentFiles], list[str]]:
        """What they send of these sources, by their names, and what went wrong; files last as long as the mirrors."""

    def machines_json(self, environment: Environment, root: MemoryRoot, moment: datetime) -> list[MachineState]:
        """How they stand, for `status`."""


class BesideDoor(Door, Protocol):
    """Answers for an open memory, with another one beside it. Threads may share it."""

    def warm_up(self) -> None:
        """Starts what it will ask, so that the first question does not wait for it."""

    def close(self) -> None: ...


class BesideMemory(Protocol):
    """Another memory beside the one that is meant, opened in this process."""

    def join_answer(self, question: Question, answer: Answer) -> Answer:
        """One answer of both."""

    def read_lines(self, name: str, *, with_tools: bool) -> dict[str, Any] | None:
        """Lines of a source of the other one; None for a name that is not of it."""
