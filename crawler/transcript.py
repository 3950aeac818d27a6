"""Reads the JSONL that Claude Code writes, line by line, whatever the version and whatever broke it.

Promised: no line stops the reading. A line that cannot be parsed is reported with its place, two records on one line
are both taken, a torn last line is left for the next run, and unknown types are counted and passed over. Memory is
bounded by the longest line.
It judges one line at a time; `classify.py` says what a record is, `turns.py` joins them.
"""

import json
import lzma
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import msgspec

from crawler.classify import Record, classify
from crawler.entry import Entry, in_side_chain

BUFFER_BYTES = 1 << 18  # of a plain file: lines of some kilobytes come out of the default buffer in pieces
HEAD_BYTES = 4096  # enough of a line to see that it is a request log, whose bodies repeat the whole conversation
API_REQUEST = b'"type":"api-request'
RECORD_START = re.compile(rb'\{\s*"[A-Za-z_]+"\s*:')
UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)  # what msgspec raises for broken JSON
MAX_RESTARTS = 200  # places tried in one broken line; beyond it the rest of the line is given up


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line, or a part of one, that holds no record. `offset` counts bytes from the start of the file."""

    path: str
    line: int  # counted from 1
    offset: int
    what: str

    def __str__(self) -> str:
        return (
            f"{self.path}:{self.line}: {self.what} (byte {self.offset}). Nothing to mend: the rest of the file is read."
        )


class TranscriptReader:
    """Iterates over the entries of one transcript from a byte offset on.

    After the iteration `offset` and `line` stand behind the last complete line, `bad_lines` names what could not be
    read and `skipped` counts the records passed over by type.
    """

    def __init__(self, stream: BinaryIO, *, path: str = "", offset: int = 0, line: int = 0):
        self.path = path
        self.offset = offset
        self.line = line
        self.bad_lines: list[BadLine] = []
        self.skipped: Counter[str] = Counter()
        self._stream = stream

    def __iter__(self) -> Iterator[Entry]:
        for raw in self._lines():
            for record in self._records(raw):
                entry = self._classify(record, raw)
                if entry is None or entry.is_link:
                    self.skipped[record.type or "without type"] += 1
                if entry is not None:
                    yield entry
            self.offset += len(raw)

    def _classify(self, record: Record, raw: bytes) -> Entry | None:
        """The entry of a record, read leniently where its inner parts turn out to be broken."""
        try:
            return classify(record)
        except UNREADABLE:
            return next((classify(record) for record in self._recover(raw, stripped(raw))), None)

    def records(self) -> Iterator[Record]:
        """The records before they are judged, to find out whose file this is."""
        for raw in self._lines():
            yield from self._records(raw)
            self.offset += len(raw)

    def _lines(self) -> Iterator[bytes]:
        while raw := self._stream.readline():
            if not raw.endswith(b"\n") and not is_whole_record(raw):
                return  # the client is still writing it, or died in it
            self.line += 1
            yield raw

    def _records(self, raw: bytes) -> Iterator[Record]:
        text = stripped(raw)
        if not text:
            return
        if text.find(API_REQUEST, 0, HEAD_BYTES) >= 0 and text.endswith(b"}"):
            self.skipped["api-request"] += 1
            return
        try:
            yield _decode_head(text)
        except UNREADABLE:
            yield from self._recover(raw, text)

    def _recover(self, raw: bytes, text: bytes) -> Iterator[Record]:
        """What a line holds that is not one well-formed record of the expected types."""
        start = raw.find(text)
        position = found = restarts = 0
        while position < len(text):
            value, end = decode_value(text, position)
            if isinstance(value, dict) and stands_alone(text, end):
                yield record_of(value)
                found += 1
                position = end
            elif value is not None and position == 0:
                self._report(start, f"a {type(value).__name__} stands where a record belongs")
                position = end
            else:
                restarts += 1
                if restarts == 1:
                    self._report(start + position, "not JSON")
                following = RECORD_START.search(text, position + 1) if restarts < MAX_RESTARTS else None
                position = following.start() if following else len(text)
            while text[position : position + 1].isspace():
                position += 1
        if restarts:
            return
        if found > 1:
            self._report(start, f"{found} records on one line, all of them read")
        if (wrong := first_wrong_byte(text)) is not None:
            self._report(start + wrong, "bytes that are not UTF-8, replaced")

    def _report(self, at: int, what: str) -> None:
        self.bad_lines.append(BadLine(self.path, self.line, self.offset + at, what))


def open_transcript(path: Path) -> BinaryIO:
    """The bytes of a transcript, unpacked where its name ends in `.xz`."""
    if path.suffix == ".xz":
        return cast(BinaryIO, lzma.open(path, "rb"))
    return path.open("rb", buffering=BUFFER_BYTES)


def entries_in(path: Path) -> Iterator[Entry]:
    """The entries of one file, from its beginning."""
    agent = agent_of(path)
    with open_transcript(path) as stream:
        for entry in TranscriptReader(stream, path=str(path)):
            yield in_side_chain(entry, agent) if agent else entry


def agent_of(path: Path) -> str:
    """The id of the sub-agent whose own file this is; empty for a conversation's file."""
    name = path.name.removesuffix(".xz").removesuffix(".jsonl")
    return name.removeprefix("agent-") if name.startswith("agent-") or "subagents" in path.parts else ""


def stripped(raw: bytes) -> bytes:
    """A line without its end, and without the NUL bytes that a crash can leave before it."""
    return raw.strip(b"\x00 \t\r\n")


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
        msgspec.json.decode(stripped(line), type=dict[str, msgspec.Raw])
    except UNREADABLE:
        return False
    return True


def stands_alone(text: bytes, end: int) -> bool:
    """Whether a value that ends here is a record of its own and not a piece inside a broken one."""
    rest = text[end : end + 64].lstrip()
    return not rest or bool(RECORD_START.match(rest))


def decode_value(text: bytes, position: int) -> tuple[Any, int]:
    """The JSON value that starts at a byte, and where it ends; `(None, position)` where none does.

    Tolerates what the standard library tolerates and msgspec does not: lone surrogates, NaN; and bytes that are not
    UTF-8, which become the replacement character.
    """
    if not RECORD_START.match(text, position) and position > 0:
        return None, position
    rest = text[position:].decode("utf-8", "surrogateescape")
    try:
        value, end = json.JSONDecoder().raw_decode(rest)
    except (ValueError, RecursionError):
        return None, position
    return scrub(value), position + len(rest[:end].encode("utf-8", "surrogateescape"))


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


def record_of(value: dict[str, Any]) -> Record:
    """A record from a decoded object, leaving out every field that is not of the expected type."""
    fields: dict[str, Any] = {}
    for field in msgspec.structs.fields(Record):
        if field.encode_name not in value:
            continue
        item = value[field.encode_name]
        if field.type is msgspec.Raw:
            fields[field.name] = msgspec.Raw(json.dumps(item, ensure_ascii=False).encode())
        elif isinstance(item, field.type):
            fields[field.name] = item
    return Record(**fields)


_decode_head = msgspec.json.Decoder(Record).decode
