"""How much of each source the indices are to hold: what was decided about it, and what an index run asks of that.

Decisions are an append-only file of the person's state, a line a decision. A line is written whole or not at all, so a
run of `gc` takes effect as a whole. Levels are what `gc` made of use, log and clock: without the file everything is
indexed whole, and the next run finds the same levels again.

A faded source says so in what the ledger keeps as its content, so that a change of level is a change like any other,
found by the next run, finished after a kill, and undone the same way.
"""

import datetime as dt
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

import msgspec

from memory_server.document import Chunk, LineRange
from memory_server.layers.sessions import DIGEST_SECTIONS, DIGEST_STATEMENTS, find_subject, find_superseded_files
from memory_server.layers.topics import markdown_files
from memory_server.machine.files import append_line, file_stamp, read_records, replace_file
from memory_server.root.paths import MemoryRoot

Range = tuple[int, int]  # first and last line or turn, from 1


class Level(IntEnum):
    """How much of a session or episode the indices hold."""

    WHOLE = 0
    STATEMENTS = 1  # the statements of its file, and of its turns those that were opened
    DIGEST = 2  # the statements of its digest, and what was opened
    LINE = 3  # its first statement, and what was opened
    ATTIC = 4  # nothing: its file lies in `sessions/attic/`

    @property
    def in_words(self) -> str:
        return ("turns and statements", "statements", "digest", "line", "attic")[self]


class LevelChange(msgspec.Struct, frozen=True, array_like=True):
    """What becomes of one source."""

    was: Level
    level: Level
    session: str = ""  # its id; empty for an episode
    lines: tuple[Range, ...] = ()  # of the file, which were opened and stay
    turns: tuple[Range, ...] = ()  # of the session likewise

    @property
    def undone(self) -> "LevelChange":
        return LevelChange(self.level, self.was, self.session)


class LifeMark(msgspec.Struct, frozen=True, omit_defaults=True):
    """One decision: a run of `gc` or its undoing, or the person's word for or against keeping something."""

    at: dt.datetime
    changes: dict[str, LevelChange] = {}
    undoes: dt.datetime | None = None
    keep: str = ""  # a subject, see `layers.sessions.find_subject`
    off: bool = False


@dataclass(slots=True)
class MarksHeld:
    """The marks as they stand."""

    levels: dict[str, LevelChange] = field(default_factory=dict)  # by path; those that are whole are left out
    to_keep: set[str] = field(default_factory=set)  # subjects
    runs: list[LifeMark] = field(default_factory=list)  # of gc that were not undone, the oldest first


def add_mark(file: Path, mark: LifeMark) -> None:
    append_line(file, msgspec.json.encode(mark))


def forget_marks(file: Path, subjects: Collection[str]) -> None:
    """Takes some sources out of the file: their paths hold words of their titles."""
    lines = []
    for mark in read_records(file, LifeMark):
        changes = {path: change for path, change in mark.changes.items() if find_subject(path) not in subjects}
        if mark.keep not in subjects and (changes or mark.keep):
            lines.append(msgspec.json.encode(msgspec.structs.replace(mark, changes=changes)) + b"\n")
    if file.exists():
        replace_file(file, b"".join(lines))


def read_marks(file: Path) -> MarksHeld:
    """What holds by all marks together."""
    found = MarksHeld()
    for mark in read_records(file, LifeMark):
        if mark.keep:
            (found.to_keep.discard if mark.off else found.to_keep.add)(mark.keep)
        _follow(found.levels, mark.changes)
        if mark.undoes:
            found.runs = [run for run in found.runs if run.at != mark.undoes]
        elif mark.changes:
            found.runs.append(mark)
    return found


def _follow(levels: dict[str, LevelChange], changes: Mapping[str, LevelChange]) -> None:
    for path, change in changes.items():
        levels.pop(path, None)
        if change.level:
            levels[path] = change


WHOLE = LevelChange(Level.WHOLE, Level.WHOLE)


@dataclass(frozen=True, slots=True)
class Fading:
    """The levels of one moment."""

    files: Mapping[str, LevelChange] = field(default_factory=dict)  # by path
    sessions: Mapping[str, LevelChange] = field(default_factory=dict)  # by the id of a session
    run: str = ""  # differs after every run of gc and its undoing

    def mark(self, path: str) -> str:
        """What the ledger adds to the hash of a file; empty where all its statements are indexed."""
        change = self.files.get(path, WHOLE)
        return _mark(change) if change.level >= Level.DIGEST else ""

    def session_mark(self, session_id: str) -> str:
        """The same of the turns of a session."""
        return _mark(self.sessions.get(session_id, WHOLE))

    def is_away(self, session_id: str) -> bool:
        """Whether a session lies in the attic."""
        return self.sessions.get(session_id, WHOLE).level is Level.ATTIC

    def chunks(self, path: str, chunks: Sequence[Chunk]) -> list[Chunk]:
        """Those of a file's passages that are indexed."""
        change = self.files.get(path, WHOLE)
        if change.level < Level.DIGEST:
            return list(chunks)
        searchable = [chunk for chunk in chunks if chunk.searchable]
        first = _select_digest(searchable) if change.level is Level.DIGEST else searchable[:1]
        return [chunk for chunk in chunks if chunk in first or is_within(chunk.lines, change.lines)]

    def turns(self, session_id: str) -> Sequence[Range] | None:
        """The turns of a session whose stretches are indexed; None for all of them."""
        change = self.sessions.get(session_id)
        return change.turns if change else None


def is_within(lines: LineRange, ranges: Sequence[Range]) -> bool:
    """Whether lines meet any of some ranges."""
    return any(first <= lines.last and lines.first <= last for first, last in ranges)


def _select_digest(chunks: Sequence[Chunk]) -> list[Chunk]:
    """The first statements of the sections of a digest; of a file without them its first passages."""
    sections: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        sections.setdefault(chunk.headings[-1] if chunk.headings else "", []).append(chunk)
    found = [one for name in DIGEST_SECTIONS for one in sections.get(name, [])[:DIGEST_STATEMENTS]]
    return found or list(chunks[:DIGEST_STATEMENTS])


def _mark(change: LevelChange) -> str:
    return f"~{change.level:d}.{zlib.crc32(msgspec.json.encode(change)):08x}" if change.level else ""


class FadingOf:
    """Reads the levels of a root, anew only where the marks or the files of sessions have changed."""

    def __init__(self, root: MemoryRoot):
        self._root = root
        self._known: tuple[object, Fading] | None = None

    def __call__(self) -> Fading:
        state = tuple(map(file_stamp, (self._root.marks, self._root.sessions, *sorted(self._root.sessions.glob("*/")))))
        if self._known is None or self._known[0] != state:
            found = self._read()
            self._known = (state, self._drop_resumed(found) if found.files else found)
        return self._known[1]

    def _read(self) -> Fading:
        marks = read_marks(self._root.marks)
        by_session = {change.session: change for change in marks.levels.values() if change.session}
        return Fading(marks.levels, by_session, marks.runs[-1].at.isoformat() if marks.runs else "")

    def _drop_resumed(self, found: Fading) -> Fading:
        """Without sessions that went on since: their file is another one, and all of it is young."""
        old = {self._root.relative(file) for file in find_superseded_files(markdown_files(self._root.sessions))}
        resumed = {change.session for path, change in found.files.items() if path in old and change.level < Level.ATTIC}
        if not resumed:
            return found
        sessions = {name: change for name, change in found.sessions.items() if name not in resumed}
        return Fading(found.files, sessions, found.run)
