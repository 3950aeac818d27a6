"""The objects of a JSONL or JSON file, whatever is broken in it: plain, or packed with zstd or xz.

As in Claude Code's transcripts no line stops the reading, a torn last line is left for the next time, and memory is
bounded: a line beyond all measure is passed over and named.
"""

from collections.abc import Iterator
from contextlib import closing
from typing import Any, BinaryIO

import msgspec

from crawler.sources.agent import open_file, unpacking
from crawler.sources.conversation import AgentFile
from crawler.transcripts.transcript import (
    BUFFER_BYTES,
    MAX_LINE_BYTES,
    MAX_WORDS_BYTES,
    BadLine,
    decode_value,
    make_long_line_problem,
    reading,
    skip_line,
    strip_line,
    without_images,
)
from memory_server.machine.files import UNREADABLE_JSON

MAX_UNPACKED_BYTES = 4_000_000_000
MAX_FILE_BYTES = 400_000_000  # of one that is a single JSON value


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
