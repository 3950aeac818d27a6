"""What the core asks of parts: of one that reaches other machines, and of one that asks another memory beside one."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime
from typing import Any, Protocol

from crawler.archive.append import IngestLimits, IngestSettings
from crawler.archive.discovery import FoundFile
from crawler.ingest import IngestReport
from crawler.references import ReferenceSource, SentFiles
from memory_server.document import Answer
from memory_server.faces.door import Door
from memory_server.root.paths import MemoryRoot
from memory_server.search.question import Question
from oneiros.environment import Environment

Take = Callable[[IngestSettings, Sequence[FoundFile]], IngestReport]


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

    def machines_json(self, environment: Environment, root: MemoryRoot, moment: datetime) -> list[dict[str, object]]:
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
