"""Lines of a source as text: of a file below the root, or of an archived session, whose lines are its turns."""

import datetime as dt
from dataclasses import dataclass
from pathlib import Path

from memory_server.chunking import split_lines
from memory_server.document import Document, Layer, LineRange, SourcePath
from memory_server.errors import ContentError, UsageError
from memory_server.index.raw import SessionStore, raw_path, session_of_path
from memory_server.layers.sessions import read_session as session_file
from memory_server.layers.topics import SourceFile, document_and_text, find_sources, topic_name
from memory_server.root.paths import MemoryRoot

TURNS_READ = 20  # of an archived session, where no end is named


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

    @property
    def text(self) -> str:
        return "".join(self.parts)


def read_lines(root: MemoryRoot, name: str, first: int, last: int | None, today: dt.date | None = None) -> SourceText:
    """Lines of a source by name or path; without `last` up to its end. One that does not hold on a day is marked so.

    Raises ContentError where there is no such source, UsageError where it has no such lines.
    """
    return read_source(root, source_named(root, name), first, last, today)


def read_source(
    root: MemoryRoot, source: SourceFile, first: int, last: int | None, today: dt.date | None = None
) -> SourceText:
    """Lines of a source that was found; raises as `read_lines` does."""
    return reading_of(*document_and_text(root, source), first, last, today)


def reading_of(document: Document, text: str, first: int, last: int | None, today: dt.date | None = None) -> SourceText:
    """Lines of a document's text. Raises UsageError as `read_lines` does."""
    lines = split_lines(text.removeprefix("\ufeff"))
    count = max(1, len(lines))  # an empty file has one empty line
    asked = f"{first}" if last is None else f"{first}-{last}"
    first = max(1, first)
    last = min(count, last if last is not None else count)
    if first > count or last < first:
        raise UsageError(
            f"{document.path} has {len(lines)} lines, {asked} was asked for", remedy="Ask for lines that exist"
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


def read_turns(store: SessionStore, session_id: str, first: int, last: int | None) -> SourceText:
    """Turns of an archived session; without `last` some TURNS_READ. Raises as `read_lines` does."""
    if session_id not in store.marks():
        raise ContentError(f"no session {session_id!r} is archived", remedy="Name the path of a raw hit")
    session = store.session(session_id)
    first, last = max(1, first), min(len(session.turns), last if last is not None else first + TURNS_READ - 1)
    if last < first:
        asked = f"{session_id} has {len(session.turns)} turns, {first} was asked for"
        raise UsageError(asked, remedy="Ask for turns that exist")
    shown = session.turns[first - 1 : last]
    parts = tuple(f"[{number}] {turn.who}: {turn.text}\n" for number, turn in enumerate(shown, start=first))
    path, lines = raw_path(session_id), LineRange(first, last)
    return SourceText(path, Layer.RAW, session.title, session.date, lines, len(session.turns), parts)


def session_named(root: MemoryRoot, name: str) -> str:
    """The id of a session, or the beginning of one, from that or from the path of a hit."""
    session_id = session_of_path(name.strip()) or name.strip()
    if session_id.endswith(".md"):
        session_id = session_file(root.file(source_named(root, session_id).path)).session_id
    return session_id


def source_named(root: MemoryRoot, name: str) -> SourceFile:
    """A source by its path, its path without `.md`, its topic name, or the unique end or start of a session's."""
    wanted = name.strip().removesuffix(".md").casefold()
    sources = list(find_sources(root))
    for naming in (lambda path: path.removesuffix(".md"), topic_name, lambda path: Path(path).stem):
        for source in sources:
            if naming(source.path).casefold() == wanted:
                return source
    near = [source for source in sources if wanted and wanted in source.path.casefold()]
    if len(near) == 1:
        return near[0]
    known = near or [source for source in sources if source.layer is Layer.TOPIC]
    names = ", ".join(topic_name(source.path) for source in known[:12])
    raise ContentError(
        f"there is {'more than one source' if near else 'no source'} named {name!r}",
        remedy=f"Name one of these: {names}" if names else "This memory is empty",
    )
