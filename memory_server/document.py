"""The data that crosses borders: documents, chunks, hits, places.

Everything here is frozen. Paths of sources are relative to the memory root and use `/` on every platform, so that an
id, a hit and a ledger row mean the same on all machines.
"""

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NewType

from memory_server.errors import ContentError

SourcePath = NewType("SourcePath", str)  # relative to the memory root, with `/`
ChunkId = NewType("ChunkId", str)  # 24 hexadecimal digits
RAW_FOLDER = "sessions/archive/"  # a raw source is named `sessions/archive/<session id>`; no file has that name
ARCHIVED_PATH = re.compile(r"(?P<account>account:)?sessions/archive/(?P<id>[0-9a-f]{8}(?=-)|.+)")
PLACE = re.compile(r"(?P<name>.+?)(?::(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?)?", re.DOTALL)


class Layer(StrEnum):
    """Where a source stands; the rank decides who wins when two answer the same thing."""

    TOPIC = "topic"
    SESSION = "session"
    RAW = "raw"
    REFERENCE = "reference"

    @property
    def rank(self) -> int:
        """1 for the authority, 4 for mere context."""
        return RANKS[self]


RANKS = {layer: place for place, layer in enumerate(Layer, start=1)}  # asked for a thousand times a search
BY_LINE = frozenset({Layer.SESSION, Layer.RAW})  # layers in which each line is a statement or turn of its own


class Standing(StrEnum):
    """The one word that is shown of what was said in a session: who said it or, where the session tells, what came of
    it. A later one of these outdoes an earlier one.
    """

    YOU = "you"
    CLAUDE = "Claude"
    AGREED = "agreed"  # the person said yes to it, chose it, or accepted the plan
    DONE = "done"  # committed, written, or tests passed after it
    DROPPED = "dropped"  # rejected, taken back, or left by a rewind


CLAUDE = "claude"  # the agent of a session that names none
UNAPPROVED = "unapproved"  # the mark of what nobody has answered for as it stands
TYPES = ("decision", "lesson", "preference", "fact", "topic", "skill_idea")  # of what sessions said, by the recorder


class Certainty(StrEnum):
    """How sure a hit is to answer the question; see `search/certainty.py`."""

    SURE = "sure"
    LIKELY = "likely"
    PERHAPS = "perhaps"


@dataclass(frozen=True, slots=True, order=True)
class LineRange:
    """Lines of a file, counted from 1, both ends included."""

    first: int
    last: int

    def __str__(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


@dataclass(frozen=True, slots=True)
class Interval:
    """The days on which a topic holds, both ends included; None: no such end."""

    first: dt.date | None = None
    last: dt.date | None = None

    def outside(self, day: dt.date) -> str:
        """`held until 2025-12-31` or `holds from 2026-12-01` where the day lies outside of it; else empty."""
        if self.last and day > self.last:
            return f"held until {self.last.isoformat()}"
        return f"holds from {self.first.isoformat()}" if self.first and day < self.first else ""


ALWAYS = Interval()


@dataclass(frozen=True, slots=True)
class SourceHead:
    """What is known of a source beside its text: what filters ask for, and hits show."""

    path: SourcePath
    layer: Layer
    title: str
    date: dt.date | None = None  # when it was last true: modified, else created, else of the session
    kind: str = ""  # MIF type: semantic, episodic, procedural
    project: str = ""
    machine: str = ""
    agent: str = ""  # that a session was held with
    branch: str = ""  # of git, on which most turns of a session were
    namespace: str = ""  # words joined by /; of a topic that names none its folder below topics/
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()  # names of the things that it speaks of, case-folded
    supersedes: tuple[str, ...] = ()  # sources that this one replaces
    identity: str = ""  # the id in its frontmatter; empty where it has none
    interval: Interval = ALWAYS  # of a topic


@dataclass(frozen=True, slots=True)
class Document(SourceHead):
    """One source, read: what it says and what is known about it."""

    body: str = ""  # the text after the frontmatter, unchanged
    body_line: int = 1  # the line of the file on which the body starts, counted from 1
    summary: str = ""  # what its frontmatter says it is about
    head: str = ""  # the text of its frontmatter, fences left out
    fault: ContentError | None = None  # why its frontmatter is not valid, where that was read key by key

    def about(self) -> str:
        """What is said of the document beside its body: the words of its path, and its frontmatter."""
        words = " ".join(re.findall(r"[^\W_]+", self.path.removesuffix(".md").partition("/")[2]))
        return f"{words}\n{self.head}"


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a source that is embedded and indexed as one.

    The `text` of all chunks of a source, joined in order, is its body. `searchable` is what is embedded and indexed:
    the text without footnotes and generated pointers; empty where nothing of it should be found. The `keys` are
    embedded and indexed beside it.
    """

    id: ChunkId
    path: SourcePath
    ordinal: int  # the place among the chunks of its source, from 0
    text: str
    searchable: str
    headings: tuple[str, ...]  # from the document's first heading down to the chunk's own
    lines: LineRange
    standing: Standing | None = None  # of what was said in a session
    settled_at: int = 0  # the turn that shows it, from 1; 0 where none does
    person_chars: int = 0  # at its beginning that a person said in a session
    keys: tuple[str, ...] = ()  # questions that a statement answers: searched, never shown
    noted: tuple[str, ...] = ()  # what a model read in what was said in a session, shown beside it
    takes_back: tuple[str, ...] = ()  # what that ends, in a reader's words: neither searched nor shown

    def context(self, document: Document) -> str:
        """The line put before the passage when it is embedded: date, title and the path of headings.

        The headings of a session's file name kinds of statements and say nothing of their subject, so they are left
        out; that of a stretch is the request that it answers. The first chunk carries the document's summary too; in
        front of each statement of a topic it blurs what tells them apart, see benchmarks/RESULTS.md.
        """
        headings = () if document.layer is Layer.SESSION else self.headings
        where = " ".join(" > ".join(dict.fromkeys([document.title, *headings])).split())
        dated = f"{document.date.isoformat()} {where}" if document.date else where
        return f"{dated}. {document.summary}" if document.summary and self.ordinal == 0 else dated


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a hit was found: which arm or rule, with the score or words that it saw."""

    arm: str  # keyword, semantic, sparse, cross, time, rerank, literal, turns, type
    detail: str


@dataclass(frozen=True, slots=True)
class Hit:
    """One answer: a passage, where it stands and why it was found."""

    chunk: ChunkId
    passage: str
    path: SourcePath
    lines: LineRange
    layer: Layer
    title: str
    date: dt.date | None
    score: float  # 0 to 1; comparable within one answer only
    why: tuple[Reason, ...] = ()
    type: str = ""  # what the recorder says of it, one of TYPES; else the type of its source's frontmatter
    tags: tuple[str, ...] = ()  # of its source
    time: dt.datetime | None = None  # when it was said, where that is known better than by the day
    parts: Mapping[str, float] = field(default_factory=dict, hash=False)  # score of every arm and stage, for --explain
    more_lines: tuple[LineRange, ...] = ()  # other passages of the same source that matched
    decides: bool = False  # an approved topic that answers, or the highest layer among hits that answer the same
    certainty: Certainty = Certainty.PERHAPS  # never rises down an answer
    unapproved: bool = False  # of layer 1, in a state that nobody has answered for; it decides nothing
    outside: str = ""  # of a topic outside of its interval: until or from when it holds; it decides nothing
    replaced_by: SourcePath | None = None  # an approved statement that takes this one's place
    standing: Standing | None = None  # of what was said in a session
    settled_at: int = 0  # the turn that agreed to it, did it or dropped it, from 1; 0 where none did
    amended: str = ""  # the day and place where somebody took it back in so many words
    newer: str = ""  # the day and place of a later statement on the same, which may have taken its place
    rejected: str = ""  # the day on which the person rejected a statement that rests on words of it
    memory: str = ""  # whose it is, where two memories answer: `account`, `project NAME`
    project: str = ""  # of its source


@dataclass(frozen=True, slots=True)
class RejectedWords:
    """Words of a session that the person did not want as a statement, and when they said so."""

    session: str  # its id
    text: str
    day: dt.date


@dataclass(frozen=True, slots=True)
class Answer:
    """The hits of one search, best first, and what to tell the asker about them."""

    hits: tuple[Hit, ...]
    note: str = ""  # what to do next, in one sentence; not empty where nothing was found
    terms: tuple[str, ...] = ()  # the words that the keyword side looked up
    confidence: float = 0.0  # of recall, that the memory answers this at all; below its floor there are no hits
    is_doubtful: bool = False  # it is likely to be none: a name of the question stands nowhere, or nothing fits it
    lacks: str = ""  # what could not be looked at, and the command that names it
    here: str = ""  # the project in which it is told
    absent: tuple[str, ...] = ()  # words of the question that no passage holds


@dataclass(frozen=True, slots=True)
class NamedLines:
    """A source by a name, and lines of it: a place, as a person or a model names it."""

    name: str
    first: int | None = None  # counted from 1
    last: int | None = None


def parse_place(text: str) -> NamedLines:
    """What a hit shows as its place: `mail`, `mail:12`, `5f0c2a9e:66-70`, a path with or without lines."""
    match = PLACE.fullmatch(text.strip())
    if match is None:
        return NamedLines("")
    first, last = (None if match[end] is None else max(1, int(match[end])) for end in ("first", "last"))
    return NamedLines(match["name"], first, last)


def raw_path(session_id: str) -> SourcePath:
    """The path that an archived session has as a source."""
    return SourcePath(f"{RAW_FOLDER}{session_id}")


def session_of_path(path: str) -> str:
    """The session that a raw source is; empty for any other source."""
    return path.removeprefix(RAW_FOLDER) if path.startswith(RAW_FOLDER) else ""


def show_place(path: str, lines: LineRange) -> str:
    """A place as it is shown and read again: a session by the beginning of its id, any other source by its path."""
    match = ARCHIVED_PATH.match(path)
    return f"{match['account'] or ''}{match['id']}:{lines}" if match else f"{path}:{lines}"
