"""How much of each source the indices are to hold, by the marks: what an index run asks before it reads a source.

A faded source says so in what the ledger keeps as its content, so that a change of level is a change like any other,
found by the next run, finished after a kill, and undone the same way.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from memory_server.document import Chunk, LineRange
from memory_server.layers.sessions import DIGEST_SECTIONS, DIGEST_STATEMENTS, find_superseded_files
from memory_server.layers.topics import markdown_files
from memory_server.lifecycle.marks import Level, LevelChange, Range, read_marks
from memory_server.machine.files import file_stamp
from memory_server.root.paths import MemoryRoot

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
