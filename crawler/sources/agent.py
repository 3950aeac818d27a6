"""What the archive asks of the reader of one agent's conversations, and the files that it reads."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

from crawler.sources.conversation import AgentFile, Conversation
from crawler.sources.lines import read_head


class AgentSource(Protocol):
    """One agent, as its file describes it."""

    NAME: str  # as `agent:` filters by it
    TITLE: str
    MADE_FROM: str  # the versions that the reader was made from; what a newer one adds is counted

    def stores(self, home: Path, variables: Mapping[str, str], /) -> tuple[Path, ...]:
        """Where it keeps its conversations, whether that exists or not."""

    def files(self, store: Path, /) -> Iterator[Path]:
        """The files of a store."""

    def fits(self, path: Path, head: bytes) -> bool:
        """Whether a file of unknown origin, which begins so, is one of them."""

    def read(self, found: AgentFile) -> Iterator[Conversation]:
        """The conversations of a file. Raises ContentError where it cannot be read."""


def list_source_files(source: AgentSource, paths: Iterable[Path]) -> Iterator[Path]:
    """The files of a source at or below what somebody named: a store, a folder of its files, or a file."""
    for path in paths:
        if not path.is_dir():
            yield path
        elif found := list(source.files(path)):
            yield from found
        else:
            below = (file for file in sorted(path.rglob("*")) if file.is_file())
            yield from (file for file in below if source.fits(file, read_head(file)))
