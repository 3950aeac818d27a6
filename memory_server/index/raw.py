"""The index of layer 3: the turns of archived sessions, by words alone, in a ledger of their own.

Apart from the others, because there are a hundred times as many turns as statements: they must neither slow nor tilt a
search that does not ask for them. Derived from the archive, which another package keeps: it comes in as a
`SessionStore`. A hit's `lines` count the turns of its session. Turns are not embedded here: at some 17 passages a
second and core that costs hours. `stretch_index.py` does it for what people and models said in them.
"""

import datetime as dt
import hashlib
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np

from memory_server.document import (
    Chunk,
    ChunkId,
    Document,
    Layer,
    LineRange,
    SourcePath,
    Standing,
    raw_path,
    session_of_path,
)
from memory_server.embedding.vector_cache import TextHash
from memory_server.index.build import SOURCES_A_TRANSACTION, Progress
from memory_server.index.ledger import Ledger, SourceState
from memory_server.index.snapshot import Passages, Snapshot
from memory_server.layers.notes import SessionNote
from memory_server.lifecycle.fading import Fading, Range, is_within
from memory_server.machine.database import remove_damaged, remove_database

PIECE_CHARS = 1_000  # of a turn: what is ranked and shown as one passage
SMALL_BYTES = 100_000  # of the records of sessions that are read while a question waits, or written together
WORD = re.compile(r"[^\W_]+")
TURNS_READ = 20  # of an archived session, where no end is named
READING_TURNS = "reading turns"  # the stage
NO_HASH = TextHash(b"raw")  # marks a chunk as searchable; no vector is ever kept under it


@dataclass(frozen=True, slots=True)
class ArchivedTurn:
    """What one role said or did, redacted."""

    who: str  # person, assistant, sub-agent, system, or `tool Bash`
    text: str
    spoken: str = ""  # what of it somebody said, rather than a tool returned
    is_person: bool = False  # whether the person said that
    standing: Standing | None = None  # what came of it, where the session tells
    settled_at: int = 0  # the turn that shows it, from 1
    keys: tuple[str, ...] = ()  # questions that it answers, and what it says in plain words: searched, never shown
    noted: tuple[str, ...] = ()  # what it says in a reader's words, proved by its own
    takes_back: tuple[str, ...] = ()  # what it ends, in a reader's words: neither searched nor shown


@dataclass(frozen=True, slots=True)
class ArchivedSession:
    """A session as the index needs it."""

    document: Document  # its head, with an empty body: what it says is in its turns
    turns: Sequence[ArchivedTurn]


class SessionStore(Protocol):
    """What keeps the sessions of a memory: the archive, seen from below."""

    def marks(self) -> Mapping[str, str]:
        """Every archived session, with a mark that differs whenever its content does."""

    def read_sizes(self) -> Mapping[str, int]:
        """The bytes of every session's record: the more of it was said, the more."""

    def read_days(self) -> Mapping[str, dt.date]:
        """The day on which the last entries of every session were archived."""

    def session(self, session_id: str) -> ArchivedSession:
        """One session with all its turns."""

    def notes(self, session_id: str) -> tuple[str, Sequence[SessionNote]]:
        """The project of a session, and the notes that it wrote or read. Raises ContentError where it is damaged."""

    def at_depth(self, session_id: str, depth: str, first: int) -> str:
        """A session as text, at the depth `line`, `digest`, `file` or `raw`; `first` counts raw turns from 0."""


Cut = Callable[[Document, Sequence[ArchivedTurn]], list[tuple[Chunk, TextHash]]]  # each passage with its vector's key


class RawIndex:
    """The turns of all archived sessions. Safe to share between threads; several processes may bring it level."""

    def __init__(
        self,
        file: Path,
        open_store: Callable[[], SessionStore],
        cut: Cut | None = None,
        fading: Callable[[], Fading] = Fading,
    ):
        """Opens nothing yet. `open_store`: the archive, when it is first asked for anything. `cut`: how turns become
        passages; each in pieces where none is given.

        Of a session that faded, the passages of those turns that were opened stay where `cut` is given; where it is
        not, its words, each once, by which it is found and then read from the archive.
        """
        self._open_store = open_store
        self._keeps_words = cut is None
        self._fading = fading
        self._cut = cut or chunk_turns
        self.guard = threading.RLock()  # of what is being searched
        self._run = threading.Lock()  # held by the one thread that brings it level
        self._file = file
        self._ledger: Ledger | None = None
        self._snapshot: Snapshot | None = None
        self._seen = -1

    @cached_property
    def store(self) -> SessionStore:
        """What keeps the sessions."""
        return self._open_store()

    def close(self) -> None:
        with self.guard:
            if self._ledger is not None:
                self._ledger.close()
            self._ledger = self._snapshot = None

    @property
    def ledger(self) -> Ledger:
        with self.guard:
            if self._ledger is None:
                remove_damaged(self._file)
                self._ledger = Ledger(self._file)
            return self._ledger

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to ask; looking makes no file."""
        if not self._file.exists():
            return True
        with self.guard:
            return self.ledger.connection.execute("select 1 from source limit 1").fetchone() is None

    def changes(self) -> tuple[list[str], list[str]]:
        """The sessions to read, and those to remove."""
        marks = self.marks()
        if not marks and not self._file.exists():
            return [], []
        known = {session_of_path(path): state.content_hash for path, state in self.ledger.sources().items()}
        changed = [session_id for session_id, mark in marks.items() if known.get(session_id) != mark]
        return changed, [session_id for session_id in known if session_id not in marks]

    def marks(self) -> Mapping[str, str]:
        """Every session that is to be indexed, with a mark of its content and of how much of it is held."""
        fading = self._fading()
        marks = self.store.marks().items()
        return {name: mark + fading.session_mark(name) for name, mark in marks if not fading.is_away(name)}

    def is_small(self, sessions: Sequence[str]) -> bool:
        """Whether a search may wait until these are read."""
        sizes = self.store.read_sizes()
        return sum(sizes.get(name, 0) for name in sessions) <= SMALL_BYTES

    def bring_level(self, report_progress: Callable[[Progress], None] = lambda _: None, *, waits: bool = True) -> int:
        """Reads what is new in the archive and drops what is gone; returns how many sessions that were.

        Short sessions come first, and searches go on beside it. `waits`: for another thread that is at it; else
        nothing is done.
        """
        if not self._run.acquire(blocking=waits):
            return 0
        try:
            changed, removed = self.changes()
            if changed or removed:
                with closing(Ledger(self._file)) as ledger:  # of its own: other threads are reading the shared one
                    self._read_changes(ledger, changed, removed, report_progress)
            return len(changed) + len(removed)
        finally:
            self._run.release()

    def _read_changes(
        self,
        ledger: Ledger,
        changed: Sequence[str],
        removed: Sequence[str],
        report_progress: Callable[[Progress], None],
    ) -> None:
        marks, fading, sizes = self.marks(), self._fading(), self.store.read_sizes()
        with self._changing(ledger):
            for session_id in removed:
                ledger.remove_source(raw_path(session_id))
        done = 0
        for part in split_batches(sorted(changed, key=lambda name: sizes.get(name, 0)), sizes):
            states = [SourceState(raw_path(name), 0, 0, marks[name]) for name in part]
            read = [
                self._read(ledger, state, name, fading.turns(name)) for name, state in zip(part, states, strict=True)
            ]
            with self._changing(ledger):
                for state, (document, cut) in zip(states, read, strict=True):
                    ledger.put_source(document, state, [chunk for chunk, _ in cut], [key for _, key in cut])
            done += len(part)
            report_progress(Progress(READING_TURNS, done, len(changed)))

    def _read(
        self, ledger: Ledger, state: SourceState, session_id: str, remaining: Sequence[Range] | None
    ) -> tuple[Document, Sequence[tuple[Chunk, TextHash]]]:
        """A session and its passages. `remaining`: of one that faded the turns that stay; None for all of them."""
        if remaining is not None and self._keeps_words and (document := _read_indexed(ledger, state)):
            return document, ()
        if remaining is not None and not (remaining or self._keeps_words):
            return bare(session_id), ()
        session = self.store.session(session_id)
        document = session.document
        if remaining is not None and self._keeps_words:
            return replace(document, head=words_once("\n".join(turn.text for turn in session.turns))), ()
        cut = self._cut(document, session.turns)
        return document, [one for one in cut if remaining is None or is_within(one[0].lines, remaining)]

    @contextmanager
    def _changing(self, ledger: Ledger) -> Iterator[None]:
        """A change that no search sees half of: those under way are waited for when it is to be seen, not before."""
        with ExitStack() as seen, ledger.transaction():
            yield
            seen.enter_context(self.guard)

    def drop(self) -> None:
        """Deletes the index; the next `bring_level` builds it anew. Call with no search under way."""
        self.close()
        remove_database(self._file)

    def snapshot(self) -> Snapshot:
        """The passages as they are now; read again only when they have changed."""
        with self.guard:
            generation = self.ledger.generation()
            if self._snapshot is None or generation != self._seen:
                no_vectors = np.zeros((0, 1), dtype=np.float32)
                no_tokens = np.zeros((0, 1), dtype=np.uint8)
                passages = read_raw_passages(self.ledger)
                self._snapshot = Snapshot(passages, self.ledger.read_sources(), no_vectors, no_tokens)
                self._seen = generation
            return self._snapshot


def split_batches(names: Sequence[str], sizes: Mapping[str, int]) -> Iterator[list[str]]:
    """Sessions that are written together: so many, or so few that their records have SMALL_BYTES; a long one alone."""
    batch, size = list[str](), 0
    for name in names:
        if batch and (len(batch) == SOURCES_A_TRANSACTION or size + sizes.get(name, 0) > SMALL_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(name)
        size += sizes.get(name, 0)
    if batch:
        yield batch


def bare(session_id: str) -> Document:
    """A session of which nothing is shown."""
    return Document(path=raw_path(session_id), layer=Layer.RAW, title="")


def words_once(text: str) -> str:
    """Every word of a text once, in some order."""
    return " ".join(sorted(set(WORD.findall(text.casefold()))))


def _read_indexed(ledger: Ledger, state: SourceState) -> Document | None:
    """A session by its words alone, made of its index; None where that does not hold it as it is."""
    select = "select id, content_hash, body from source where path = ?"
    row = ledger.connection.execute(select, (state.path,)).fetchone()
    if row is None or row[1].partition("~")[0] != state.content_hash.partition("~")[0]:
        return None
    [head] = ledger.read_sources([row[0]]).values()
    values = {field.name: getattr(head, field.name) for field in fields(head)}
    return Document(**values, head=words_once(row[2]))


def chunk_turns(document: Document, turns: Sequence[ArchivedTurn]) -> list[tuple[Chunk, TextHash]]:
    """Every turn in pieces; the number of a turn stands as its line."""
    chunks: list[tuple[Chunk, TextHash]] = []
    for number, turn in enumerate(turns, start=1):
        for piece in split_pieces(turn.text):
            ordinal = len(chunks)
            text = f"{turn.who}: {piece}"
            lines = LineRange(number, number)
            name = chunk_id(document.path, number, ordinal, piece)
            chunks.append((Chunk(name, document.path, ordinal, text, text, (), lines), NO_HASH))
    return chunks


def chunk_id(path: SourcePath, turn: int, ordinal: int, text: str) -> ChunkId:
    """The name of a passage of turns; `turn` counts from 1."""
    return ChunkId(hashlib.sha256(f"{path}\0{turn}\0{ordinal}\0{text}".encode()).hexdigest()[:24])


def split_pieces(text: str, chars: int = PIECE_CHARS) -> Iterator[str]:
    """A text in pieces of some `chars` characters, cut at the end of a line or a word where there is one."""
    position = 0
    while position < len(text):
        end = position + chars
        if end < len(text):
            least = position + chars // 2
            at = max(text.rfind("\n", least, end), 0) or max(text.rfind(" ", least, end), 0)
            if at:
                end = at + 1
            else:  # an identifier that is longer than what is searched for: cut where it may not be one
                end = next((place for place in range(end, min(end + 200, len(text))) if text[place] in CUTS), end)
        if piece := text[position:end].strip():
            yield piece
        position = end


CUTS = frozenset(" \n\t,;:=&?\"'()[]{}<>|")


def read_raw_passages(ledger: Ledger) -> Passages:
    """The table of passages, without vectors."""
    found = ledger.connection.execute(
        "select id, source, ordinal, first_line, word_count from chunk where text_hash is not null order by id"
    ).fetchall()
    rows, sources, ordinals, lines, lengths = (
        np.array(column, dtype=np.int64) for column in (zip(*found, strict=True) if found else [()] * 5)
    )
    none, zero = np.full(len(rows), -1, np.int64), np.zeros(len(rows), np.int64)
    layers = np.full(len(rows), Layer.RAW.rank, np.int64)
    return Passages(rows, sources, ordinals, layers, none, zero, zero, lines, lengths)
