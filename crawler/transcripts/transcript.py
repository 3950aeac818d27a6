"""Reads the JSONL that Claude Code writes, line by line, whatever the version and whatever broke it.

Promised: no line stops the reading. A line that cannot be parsed is reported with its place, two records on one line
are both taken, a torn last line is left for the next run, and unknown types are counted and passed over. Memory is
bounded, since a line beyond all measure is passed over, and a file that goes on growing is read to where it was.
It judges one line at a time; `classify.py` says what a record is, `turns.py` joins them.
"""

import io
import json
import lzma
import math
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from crawler.transcripts.classify import Record, classify
from crawler.transcripts.entry import Entry, Grammar, in_side_chain
from memory_server.errors import ContentError, Problem
from memory_server.escaping import escape_line
from memory_server.machine.files import UNREADABLE_JSON

MAX_LINE_BYTES = 32_000_000  # what a client may send to its model in one request
MAX_WORDS_BYTES = (
    6_000_000  # of a line without its images: parsed and searched for secrets, a byte may take 50 of memory
)
IMAGE = re.compile(rb'"(data|base64)"\s*:\s*"[A-Za-z0-9+/=]{1000,}"')
BUFFER_BYTES = 1 << 18  # of a plain file: lines of some kilobytes come out of the default buffer in pieces
HEAD_BYTES = 4096  # enough of a line to see that it is a request log, whose bodies repeat the whole conversation
API_REQUEST = b'"type":"api-request'
RECORD_START = re.compile(r'\{\s*"[A-Za-z_]+"\s*:')
BOM = b"\xef\xbb\xbf"
BLANKS = re.compile(r"\s*")
SURROGATES = re.compile(rb"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u[dD][89a-fA-F]..")
HALF = 6  # bytes that `\ud83d` takes, whose other half is missing
NO_PERSON = {"is_meta": True, "is_summary": True, "is_sidechain": True, "agent": "odd"}  # where the type is another
MAX_RESTARTS = 200  # places tried in one broken line; beyond it the rest of the line is given up
PIECE_BYTES = 1 << 16  # of the packed file, read at once
WINDOW_BYTES = 100_000_000  # memory of the decoder; `xz -9` needs 68 MB
MAX_UNPACKED_BYTES = 4_000_000_000  # unpacked; a hundred times the longest transcript known


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line, or a part of one, that holds no record. `offset` counts bytes from the start of the file."""

    path: str
    line: int  # counted from 1
    offset: int
    what: str

    def __str__(self) -> str:
        place = f"{escape_line(self.path)}:{self.line}"
        return f"{place}: {self.what} (byte {self.offset}). Nothing to mend: the rest of the file is read."


class TranscriptReader:
    """Iterates over the entries of one transcript from a byte offset on.

    After the iteration `offset` and `line` stand behind the last complete line, `bad_lines` names what could not be
    read, `problems` what a person may want to mend, `skipped` counts the records passed over by type, and `unread` the
    lines of which something was lost. Lines that begin at the byte `end` or behind it are left for the next run. Raises
    ContentError where the file cannot be read.
    """

    def __init__(self, stream: BinaryIO, *, path: str = "", offset: int = 0, line: int = 0, end: float = math.inf):
        self.path = path
        self.offset = offset
        self.line = line
        self.bad_lines: list[BadLine] = []
        self.problems: list[Problem] = []
        self.skipped: Counter[str] = Counter()
        self.unread = 0
        self._stream = stream
        self._end = end
        self._grammar = Grammar()

    def __iter__(self) -> Iterator[Entry]:
        for raw in self._lines():
            for record in self._records(raw):
                try:
                    entry = classify(record)
                except UNREADABLE_JSON:
                    entry = self._classify_leniently(raw)
                if entry is None or not entry.parts:
                    self.skipped[record.type or "without type"] += 1
                if entry is not None:
                    yield self._grammar.hold(entry)

    def _classify_leniently(self, raw: bytes) -> Entry | None:
        """The entry of a record whose inner parts turned out to be broken."""
        return next((classify(record) for record in self._recover(raw, strip_line(raw))), None)

    def records(self) -> Iterator[Record]:
        """The records before they are judged, to find out whose file this is."""
        for raw in self._lines():
            yield from self._records(raw)

    def _lines(self) -> Iterator[bytes]:
        """The complete lines; `offset` stands before each until the next one is asked for."""
        with reading(Path(self.path)):
            while self.offset < self._end and (raw := self._stream.readline(MAX_LINE_BYTES)):
                size = len(raw)
                if not raw.endswith(b"\n"):
                    if size == MAX_LINE_BYTES:
                        size += skip_line(self._stream)
                    elif not is_whole_record(raw):
                        return  # the client is still writing it, or died in it
                self.line += 1
                words = raw if size <= MAX_WORDS_BYTES else without_images(raw, size)
                if words is None:
                    self.unread += 1
                    self.problems.append(make_long_line_problem(self.path, self.line, size, "a client"))
                else:
                    yield words
                self.offset += size

    def _records(self, raw: bytes) -> Iterable[Record]:
        text = raw if raw.startswith(b"{") else strip_line(raw)  # which copies the line
        if not text:
            return ()
        if text.find(API_REQUEST, 0, HEAD_BYTES) >= 0 and strip_line(text).endswith(b"}"):
            self.skipped["api-request"] += 1
            return ()
        try:
            return (_decode_head(text),)
        except UNREADABLE_JSON:
            return self._recover(raw, strip_line(text))

    def _recover(self, raw: bytes, line: bytes) -> Iterator[Record]:
        """What a line holds that is not one well-formed record of the expected types."""
        start = raw.find(line)
        text = line.decode("utf-8", "surrogateescape")
        position = found = restarts = 0
        while position < len(text):
            value, end = decode_value(text, position)
            if isinstance(value, dict) and stands_alone(text, end):
                yield make_record(value)
                found += 1
                position = end
            elif value is not None and position == 0:
                self._report(start, f"a {type(value).__name__} stands where a record belongs")
                self.unread += 1
                position = end
            else:
                restarts += 1
                if restarts == 1:
                    self.unread += 1
                    self._report(start + len(text[:position].encode("utf-8", "surrogateescape")), "not JSON")
                following = RECORD_START.search(text, position + 1) if restarts < MAX_RESTARTS else None
                position = following.start() if following else len(text)
            position = BLANKS.match(text, position).end()  # type: ignore[union-attr]  # it fits everywhere
        if restarts:
            return
        if found > 1:
            self._report(start, f"{found} records on one line, all of them read")
        if (wrong := first_wrong_byte(line)) is not None:
            self._report(start + wrong, "bytes that are not UTF-8, replaced")
        if (half := next((m.start() for m in SURROGATES.finditer(line) if len(m[0]) == HALF), None)) is not None:
            self._report(start + half, "half a character, replaced")

    def _report(self, at: int, what: str) -> None:
        self.bad_lines.append(BadLine(self.path, self.line, self.offset + at, what))


def open_transcript(path: Path) -> BinaryIO:
    """The bytes of a transcript, unpacked where its name ends in `.xz`.

    Raises ContentError for what cannot be opened or is no file: a pipe would keep the reader waiting for ever.
    """
    with reading(path):
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe may have taken the place of a file
    stream = os.fdopen(descriptor, "rb", BUFFER_BYTES)
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise not_a_file(path)
    return io.BufferedReader(Unpacked(stream, path), BUFFER_BYTES) if path.suffix == ".xz" else stream


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Says which transcript it was that the system does not let us read. Nothing may be written within."""
    try:
        yield
    except OSError as error:
        what, remedy = f"it cannot be read ({error.strerror})", "Check its rights, or remove it"
        if path.is_symlink() and not path.exists():
            what, remedy = "it is a link that leads nowhere", "Remove it, or restore what it names"
        elif isinstance(error, FileNotFoundError):
            what, remedy = "it went away before it was read", "Ingest again if it came back"
        raise ContentError(what, where=path, remedy=remedy) from error


def not_a_file(path: Path) -> ContentError:
    """What to say of a pipe, a device or a socket with the name of a transcript."""
    return ContentError(
        "it is no file, whatever its name says", where=path, remedy="Remove it, or give it another name"
    )


def read_entries(path: Path) -> Iterator[Entry]:
    """The entries of one file, from its beginning."""
    agent = find_agent(path)
    with open_transcript(path) as stream:
        for entry in TranscriptReader(stream, path=str(path)):
            yield in_side_chain(entry, agent) if agent else entry


def find_agent(path: Path) -> str:
    """The id of the sub-agent whose own file this is; empty for a conversation's file."""
    name = path.name.removesuffix(".xz").removesuffix(".jsonl")
    return name.removeprefix("agent-") if name.startswith("agent-") or "subagents" in path.parts else ""


def skip_line(stream: BinaryIO) -> int:
    """Goes behind the rest of a line; how many bytes that was."""
    size = 0
    while piece := stream.readline(BUFFER_BYTES):
        size += len(piece)
        if piece.endswith(b"\n"):
            break
    return size


def make_long_line_problem(path: str, line: int, size: int, writer: str) -> Problem:
    """What to say of a line beyond all measure; `line` is counted from 1, `size` in bytes."""
    what = f"a line of {size / 1e6:.0f} MB, longer than any that {writer} writes; it was passed over"
    remedy = "Cut it out of the file, or split it; the rest of the file is read"
    return Problem(escape_line(path), line, what, remedy, "long-line")


def without_images(raw: bytes, size: int) -> bytes | None:
    """A long line without its images, of which no entry keeps more than a mark; None where it is too long even so.

    `size` is that of the whole line, of which `raw` may be the start alone.
    """
    left = IMAGE.sub(rb'"\1":""', raw) if size <= MAX_LINE_BYTES else raw
    return left if len(left) <= MAX_WORDS_BYTES else None


def strip_line(raw: bytes) -> bytes:
    """A line without its end, without the mark with which some editors begin a file and the NUL bytes of a crash."""
    return raw.removeprefix(BOM).strip(b"\x00 \t\r\n")


def first_wrong_byte(text: bytes) -> int | None:
    """Where a text stops being UTF-8; None where it does not."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return None


def is_whole_record(line: bytes) -> bool:
    """Whether a last line without newline is complete all the same: nothing can be appended to a closed object."""
    try:
        msgspec.json.decode(strip_line(line), type=dict[str, msgspec.Raw])
    except UNREADABLE_JSON:
        return False
    return True


def stands_alone(text: str, end: int) -> bool:
    """Whether a value that ends here is a record of its own and not a piece inside a broken one."""
    behind = BLANKS.match(text, end).end()  # type: ignore[union-attr]  # it fits everywhere
    return behind == len(text) or RECORD_START.match(text, behind) is not None


def decode_value(text: str, position: int) -> tuple[Any, int]:
    """The JSON value that starts at a character, and where it ends; `(None, position)` where none does.

    Tolerates what the standard library tolerates and msgspec does not: lone surrogates, NaN; and bytes that are not
    UTF-8 (in `text` as `surrogateescape` decodes them), which become the replacement character.
    """
    if position > 0 and not RECORD_START.match(text, position):
        return None, position
    try:
        value, end = json.JSONDecoder().raw_decode(text, position)
        return scrub(value), end
    except (ValueError, RecursionError):
        return None, position


def scrub(value: Any) -> Any:
    """The value as strict JSON can hold it: no lone surrogates, no NaN, no integer beyond 64 bits."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [scrub(item) for item in value]
    if isinstance(value, dict):
        return {scrub(key): scrub(item) for key, item in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int) and abs(value) >= 1 << 63:
        return str(value)
    return value


def make_record(value: dict[str, Any]) -> Record:
    """A record from a decoded object, leaving out every field that is not of the expected type.

    One that says that no person spoke says so whatever its type is: `"isMeta": "true"` too.
    """
    fields: dict[str, Any] = {}
    for field in msgspec.structs.fields(Record):
        if field.encode_name not in value:
            continue
        item = value[field.encode_name]
        if field.type is msgspec.Raw:
            fields[field.name] = msgspec.Raw(json.dumps(item, ensure_ascii=False).encode())
        elif isinstance(item, field.type):
            fields[field.name] = item
        elif item and field.name in NO_PERSON:
            fields[field.name] = NO_PERSON[field.name]
    return Record(**fields)


_decode_head = msgspec.json.Decoder(Record).decode


class Unpacked(io.RawIOBase):
    """The bytes that a packed file holds, from its start on. Raises ContentError where it is damaged or too large."""

    def __init__(self, packed: BinaryIO, path: Path):
        self._packed = packed
        self._path = path
        self._position = 0
        self._decoder = lzma.LZMADecompressor(memlimit=WINDOW_BYTES)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Goes back to the start, the one place that is asked for."""
        if (offset, whence) != (0, io.SEEK_SET):
            raise io.UnsupportedOperation("a packed transcript is read from its start")
        self._restart()
        return 0

    def close(self) -> None:
        self._packed.close()
        super().close()

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # the type of any buffer came with 3.12
        try:
            piece = self._next(len(buffer))
        except (lzma.LZMAError, EOFError) as error:
            raise ContentError(
                f"it cannot be unpacked ({error})", where=self._path, remedy="Copy it anew, or remove it"
            ) from error
        self._position += len(piece)
        if self._position > MAX_UNPACKED_BYTES:
            raise ContentError(
                f"it unpacks to more than {MAX_UNPACKED_BYTES / 1e9:.0f} GB", where=self._path, remedy="Remove it"
            )
        buffer[: len(piece)] = piece
        return len(piece)

    def _next(self, size: int) -> bytes:
        """Up to `size` bytes; none at the end of the last stream of the file."""
        while True:
            packed = b""
            if self._decoder.eof:
                packed = (self._decoder.unused_data or self._packed.read(PIECE_BYTES)).lstrip(b"\0")  # padding
                if not packed:
                    return b""
                self._decoder = lzma.LZMADecompressor(memlimit=WINDOW_BYTES)
            elif self._decoder.needs_input and not (packed := self._packed.read(PIECE_BYTES)):
                raise EOFError("its end is missing")
            if piece := self._decoder.decompress(packed, size):
                return piece

    def _restart(self) -> None:
        self._packed.seek(0)
        self._position = 0
        self._decoder = lzma.LZMADecompressor(memlimit=WINDOW_BYTES)
