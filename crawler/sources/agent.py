"""What the archive asks of the reader of one agent's conversations, and how the files that it reads are opened.

The objects of a JSONL or JSON file, whatever is broken in it: plain, or packed with zstd or xz. As in Claude Code's
transcripts no line stops the reading, a torn last line is left for the next time, and memory is bounded: a line beyond
all measure is passed over and named.
"""

import io
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import msgspec
import zstandard

from crawler.sources.conversation import AgentFile, Conversation
from crawler.transcripts.transcript import (
    BUFFER_BYTES,
    MAX_LINE_BYTES,
    MAX_WORDS_BYTES,
    BadLine,
    decode_value,
    make_long_line_problem,
    open_transcript,
    reading,
    skip_line,
    strip_line,
    without_images,
)
from memory_server.errors import ContentError
from memory_server.machine.files import UNREADABLE_JSON

WINDOW_BYTES = 128 << 20  # memory of the unpacker: what zstd takes without being told to
MAX_UNPACKED_BYTES = 4_000_000_000
MAX_FILE_BYTES = 400_000_000  # of one that is a single JSON value


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


def records(found: AgentFile) -> Iterator[dict[str, Any]]:
    """The objects of a file of lines. Raises ContentError where the file cannot be read."""
    offset = 0
    with closing(open_file(found.path)) as stream, reading(found.path), unpacking(found.path):
        for number, (raw, size) in enumerate(_lines(stream), start=1):
            words = raw if size <= MAX_WORDS_BYTES else without_images(raw, size)
            line = strip_line(words or b"")
            value = decode_line(line) if line else None
            if isinstance(value, dict):
                yield value
            elif words is None:
                found.problems.append(make_long_line_problem(str(found.path), number, size, "an agent"))
            elif line and raw.endswith(b"\n"):
                found.bad_lines.append(BadLine(str(found.path), number, offset, "not JSON"))
            offset += size


def whole(found: AgentFile) -> object:
    """The value of a file that is one JSON text; None where it is none."""
    with closing(open_file(found.path)) as stream, reading(found.path), unpacking(found.path):
        raw = _read_up_to(stream, MAX_FILE_BYTES + 1)
    value = decode_line(strip_line(raw)) if len(raw) <= MAX_FILE_BYTES else None
    if value is None and raw:
        found.bad_lines.append(BadLine(str(found.path), 1, 0, "not JSON, or too large"))
    return value


def _read_up_to(stream: BinaryIO, size: int) -> bytes:
    """At most so many bytes. In pieces: a read of all would take that much memory for the smallest file."""
    found = bytearray()
    while piece := stream.read(min(BUFFER_BYTES, size - len(found))):
        found += piece
    return bytes(found)


def read_head(path: Path, size: int = 1 << 16) -> bytes:
    """The first bytes of a file, unpacked. Raises ContentError where it cannot be read."""
    with closing(open_file(path)) as stream, reading(path), unpacking(path):
        return stream.read(size)


def is_database(head: bytes) -> bool:
    """Whether a file that begins so is one of SQLite."""
    return head.startswith(b"SQLite format 3\x00")


def decode_line(line: bytes) -> Any:
    """The value of a JSON text; None where it is none, even to a lenient reader."""
    try:
        return msgspec.json.decode(line)
    except UNREADABLE_JSON:
        text = line.decode("utf-8", "surrogateescape")
        value, end = decode_value(text, 0)
        return value if end == len(text) else None


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


def _lines(stream: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """Each line and its length, which is more than what is given of one beyond all measure."""
    total = 0
    while raw := stream.readline(MAX_LINE_BYTES):
        is_cut = len(raw) == MAX_LINE_BYTES and not raw.endswith(b"\n")
        size = len(raw) + (skip_line(stream) if is_cut else 0)
        yield raw, size
        total += size
        if total > MAX_UNPACKED_BYTES:
            return
