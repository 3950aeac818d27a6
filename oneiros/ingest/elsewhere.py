"""What an ingest asks of the part that reaches the person's other machines."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime
from typing import Protocol

from crawler.archive.append import IngestLimits, IngestSettings
from crawler.archive.discovery import FoundFile
from crawler.ingest import IngestReport
from crawler.references import ReferenceSource, SentFiles
from memory_server.root.paths import MemoryRoot
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
