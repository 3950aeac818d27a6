"""What the archive asks of the reader of one agent's conversations, and how the files that it reads are opened.

A file is plain, or packed with zstd or xz; only its reader knows what is in it.
"""

import io
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

import zstandard

from crawler.sources.conversation import AgentConversation, AgentFile
from crawler.transcripts.transcript import (
    BUFFER_BYTES,
    open_transcript,
    reading,
)
from memory_server.errors import ContentError

WINDOW_BYTES = 128 << 20  # memory of the unpacker: what zstd takes without being told to


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

    def read(self, found: AgentFile) -> Iterator[AgentConversation]:
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


def read_head(path: Path, size: int = 1 << 16) -> bytes:
    """The first bytes of a file, unpacked. Raises ContentError where it cannot be read."""
    with closing(open_file(path)) as stream, reading(path), unpacking(path):
        return stream.read(size)


def open_file(path: Path) -> BinaryIO:
    """The bytes of a file, unpacked where its name says so."""
    stream = open_transcript(path)
    if path.suffix != ".zst":
        return stream
    unpacker = zstandard.ZstdDecompressor(max_window_size=WINDOW_BYTES)
    return io.BufferedReader(unpacker.stream_reader(stream, read_across_frames=True), BUFFER_BYTES)


@contextmanager
def unpacking(path: Path) -> Iterator[None]:
    """Says which file it was that cannot be unpacked."""
    try:
        yield
    except zstandard.ZstdError as error:
        raise ContentError(
            f"it cannot be unpacked ({error})", where=path, remedy="Copy it anew, or remove it"
        ) from error
