"""Lines of a source as text: of a file below the root, or of an archived session, whose lines are its turns.

There is one numbering of a session: its turns, counted from 1, as hits show them (`5f0c2a9e:66`) and as they are read.
"""

import datetime as dt
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import shorten

from memory_server.chunking import split_lines
from memory_server.document import UNAPPROVED, Document, Layer, LineRange, SourcePath, parse_place, session_of_path
from memory_server.errors import ContentError, UsageError, nearest_or
from memory_server.escaping import escape_line
from memory_server.fields import fold
from memory_server.index.raw import TURNS_READ, ArchivedTurn, SessionStore
from memory_server.layers.sessions import cut_id8
from memory_server.layers.sessions import read_session as session_file
from memory_server.layers.topics import (
    SourceFile,
    Unapproved,
    document_and_text,
    find_sources,
    parse_document,
    topic_name,
)
from memory_server.root.paths import MemoryRoot

LEAST_ID = 8  # characters of a session's id by which it is named
BEFORE_CHARS = 300  # of what was said before the turn that is read, where no end is named


@dataclass(frozen=True, slots=True)
class SourceText:
    """A part of a source as text."""

    path: SourcePath
    layer: Layer
    title: str
    date: dt.date | None
    lines: LineRange  # those that are read
    last_line: int  # of the source
    parts: tuple[str, ...]  # a line or a turn each, with its end
    marks: tuple[str, ...] = ()  # why a topic decides nothing as it stands, in the words of a hit
    numbers: tuple[int, ...] = ()  # of the parts, where some lines between them are left out
    left_out: int = 0  # turns of tools among the lines

    @property
    def text(self) -> str:
        return "".join(self.parts)

    def find_number(self, part: int) -> int:
        """The number of the line or turn that a part is; behind the last one, of the next."""
        if not self.numbers:
            return self.lines.first + part
        return self.numbers[part] if part < len(self.numbers) else self.lines.last + 1


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the sources of one root. Nothing is counted or logged."""

    root: MemoryRoot
    store: SessionStore | None  # None where there is no archive
    unapproved: Unapproved
    today: dt.date

    def read(self, name: str, first: int | None, last: int | None, *, with_tools: bool) -> SourceText:
        """Lines or turns of a source; see `Memory.read`."""
        place = parse_place(name)
        if first is None and last is None:
            first, last = place.first, place.last
        session_id = find_archived_session(self.store.marks(), place.name) if self.store is not None else ""
        if self.store is not None and session_id and (first is not None or session_of_path(place.name)):
            return read_turns(self.store, session_id, first, last, with_tools=with_tools)
        reading = read_lines(self.root, cut_id8(session_id) or place.name, first or 1, last, self.today)
        texts = self.unapproved([reading.path]) if reading.layer is Layer.TOPIC else {}
        if approved := texts.get(reading.path):
            return make_reading(parse_document(reading.path, approved), approved, first or 1, last, self.today)
        return replace(reading, marks=(UNAPPROVED, *reading.marks)) if texts else reading

    def read_session(self, name: str, depth: str, first: int) -> tuple[str, str]:
        """The id of a session, and the session at a depth; see `Memory.read_session`."""
        if self.store is None:
            raise ContentError("this memory keeps no archive", remedy="Read the session's file by its path")
        session_id = find_session_id(self.root, name)
        return session_id, self.store.at_depth(session_id, depth, first - 1)


def read_lines(root: MemoryRoot, name: str, first: int, last: int | None, today: dt.date | None = None) -> SourceText:
    """Lines of a source by name or path; without `last` up to its end. One that does not hold on a day is marked so.

    Raises ContentError where there is no such source, UsageError where it has no such lines.
    """
    return read_source(root, find_source(root, name), first, last, today)


def read_source(
    root: MemoryRoot, source: SourceFile, first: int, last: int | None, today: dt.date | None = None
) -> SourceText:
    """Lines of a source that was found; raises as `read_lines` does."""
    return make_reading(*document_and_text(root, source), first, last, today)


def make_reading(
    document: Document, text: str, first: int, last: int | None, today: dt.date | None = None
) -> SourceText:
    """Lines of a document's text. Raises UsageError as `read_lines` does."""
    lines = split_lines(text.removeprefix("\ufeff"))
    count = max(1, len(lines))  # an empty file has one empty line
    wanted = f"{first}" if last is None else f"{first}-{last}"
    first = max(1, first)
    last = min(count, last if last is not None else count)
    if first > count or last < first:
        raise UsageError(
            f"{document.path} has {len(lines)} lines, {wanted} was asked for", remedy="Ask for lines that exist"
        )
    outside = document.interval.outside(today) if today else ""
    return SourceText(
        document.path,
        document.layer,
        document.title,
        document.date,
        LineRange(first, last),
        len(lines),
        tuple(lines[first - 1 : last]),
        (outside,) if outside else (),
    )


def read_turns(
    store: SessionStore, session_id: str, first: int | None, last: int | None, *, with_tools: bool = False
) -> SourceText:
    """Turns of an archived session: what the person and the assistant said, with `with_tools` all others too.

    Without `last` some TURNS_READ from `first` on, behind the end of what was said before it. Raises as `read_lines`.
    """
    if session_id not in store.marks():
        raise ContentError(f"no session {session_id!r} is archived", remedy="Name the path of a raw hit")
    session = store.session(session_id)
    begin, count = max(1, first or 1), len(session.turns)
    if begin > count or (last is not None and last < begin):
        what = f"{session_id} has {count} turns, {begin if last is None else f'{begin}-{last}'} was asked for"
        raise UsageError(what, remedy="Ask for turns that exist")
    numbers = [number for number, turn in enumerate(session.turns, start=1) if with_tools or _is_spoken(turn)]
    shown = [number for number in numbers if begin <= number <= (last or count)]
    if last is None:  # a hit may be of what a tool returned
        shown = sorted({*([] if first is None else [begin]), *shown[:TURNS_READ]})
    shown = shown or list(range(begin, min(last or begin, count) + 1))  # which are of tools alone
    end = min(last, count) if last else shown[-1]
    parts = [_turn_text(number, session.turns[number - 1], with_tools=with_tools) for number in shown]
    before = max((number for number in numbers if number < begin), default=0)
    if before and first is not None and last is None:
        text = _turn_text(before, session.turns[before - 1], with_tools=with_tools)
        parts, shown = [shorten(text, BEFORE_CHARS, placeholder=" …") + "\n", *parts], [before, *shown]
    between = set(range(shown[0], end + 1)).difference(shown)
    return SourceText(
        session.document.path,
        Layer.RAW,
        session.document.title,
        session.document.date,
        LineRange(shown[0], end),
        count,
        tuple(parts),
        numbers=tuple(shown),
        left_out=sum(session.turns[number - 1].who.startswith("tool") for number in between),
    )


def cut_start(reading: SourceText, first: int | None) -> SourceText:
    """A reading without what stands before the turn that was asked for."""
    start = next((place for place, number in enumerate(reading.numbers) if number >= (first or 1)), 0)
    return replace(reading, parts=reading.parts[start:], numbers=reading.numbers[start:])


def _is_spoken(turn: ArchivedTurn) -> bool:
    return bool(turn.spoken.strip()) and not turn.who.startswith("tool")


def _turn_text(number: int, turn: ArchivedTurn, *, with_tools: bool) -> str:
    text = turn.text if with_tools or not _is_spoken(turn) else turn.spoken
    return f"[{number}] {'you' if turn.is_person else turn.who}: {text.strip()}\n"


def find_archived_session(ids: Collection[str], name: str) -> str:
    """The archived session that a name means: its path, its id, or the one id that begins so; empty where none is."""
    wanted = session_of_path(name) or name
    if wanted in ids or name != wanted:
        return wanted
    found = [one for one in ids if len(wanted) >= LEAST_ID and one.startswith(wanted)]
    return found[0] if len(found) == 1 else ""


def find_session_id(root: MemoryRoot, name: str) -> str:
    """The id of a session, or the beginning of one, from that or from the path of a hit."""
    session_id = session_of_path(name.strip()) or name.strip()
    if session_id.endswith(".md"):
        session_id = session_file(root.file(find_source(root, session_id).path)).session_id
    return session_id


def find_source(root: MemoryRoot, name: str) -> SourceFile:
    """A source by its path, its path without `.md`, its topic name, or the unique end or start of a session's."""
    wanted = fold(name.strip().removesuffix(".md"))
    sources = list(find_sources(root))
    for naming in (lambda path: path.removesuffix(".md"), topic_name, lambda path: Path(path).stem):
        for source in sources:
            if fold(naming(source.path)) == wanted:
                return source
    near = [source for source in sources if wanted and wanted in fold(source.path)]
    if len(near) == 1:
        return near[0]
    known = near or [source for source in sources if source.layer is Layer.TOPIC]
    names = ", ".join(escape_line(topic_name(source.path)) for source in known[:12])
    remedy = f"Name one of these: {names}" if names else "This memory is empty"
    raise ContentError(
        f"there is {'more than one source' if near else 'no source'} named {name!r}",
        remedy=remedy if near else nearest_or(remedy, name, (topic_name(source.path) for source in known)),
    )
