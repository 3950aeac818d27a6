"""What passes between the rooms of dream: evidence, candidates, and where in the topics they would go.

Quote -> candidate (an extractor's suggestion) -> through the gate -> update (compared with the topics and placed in
one) -> hunk: one change of one file, with what became of it. A hunk's identity is its evidence and its target. The
session is left out of it, since a fork copies entries under the same ids: the same words never ask twice.
"""

import datetime as dt
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from crawler.transcripts.turns import Role
from memory_server.document import LineRange, SourcePath

LESSON_LEAD = "Check first: "  # what makes the statement of a mistake a check before the task; nobody said it


class Kind(StrEnum):
    """What sort of thing was said."""

    CORRECTION = "correction"
    PREFERENCE = "preference"
    DECISION = "decision"
    FACT = "fact"
    LESSON = "lesson"  # the same mistake in two or more sessions


class Relation(StrEnum):
    """How a candidate stands to what the topics say today."""

    NEW = "new"
    KNOWN = "known"  # never proposed
    EXTENDS = "extends"
    CONTRADICTS = "contradicts"  # same subject and slot, other value
    SUPERSEDES = "supersedes"  # a contradiction that the person announced as a change
    DRIFT = "drift"  # an old decision contradicted without a reason: shown to the person, not offered as an update
    EARLIER = "earlier"  # older words against what was written or said later: a question, likewise


@dataclass(frozen=True, slots=True)
class Quote:
    """Words of one turn, as the archive holds them."""

    session_id: str
    entry: str  # id of the entry, a uuid
    role: Role  # person or assistant; anything else does not pass the gate
    time: dt.datetime | None  # aware
    first: int  # of the turn's text: characters from 0
    end: int  # the character after the last; text == turn.text[first:end]
    text: str

    def overlaps(self, other: "Quote") -> bool:
        """Whether two quotes share characters of one entry."""
        return self.entry == other.entry and self.first < other.end and other.first < self.end


@dataclass(frozen=True, slots=True)
class Candidate:
    """One statement that a topic might take up, with the words it rests on."""

    text: str  # what the topic would say: one statement, Markdown, without a provenance footnote
    kind: Kind
    quotes: tuple[Quote, ...]  # the statement's own first; after an assistant's, the person's explicit agreement
    confidence: float  # 0 to 1
    why: str  # what made the extractor take it, for the reviewer
    extractor: str  # the back end that suggests it: deterministic, claude, ...
    topic: str = ""  # the topic's name that the extractor suggests, if any
    project: str = ""
    context: str = ""  # the sentence around the quote: tells what the statement is about, and is not evidence

    @property
    def source(self) -> str:
        """Who read the words, and where they are not the person's own, that they agreed to them."""
        is_agreed = bool(self.quotes) and self.quotes[0].role is Role.ASSISTANT
        return f"{self.extractor}, agreed" if is_agreed else self.extractor


@dataclass(frozen=True, slots=True)
class Place:
    """Where a statement goes. A target that does not exist yet is a new file with `title` as its heading."""

    target: SourcePath  # topics/<name>.md or lessons.md
    after_line: int  # insert behind this line of the file as it is today, counted from 1; 0 in a new file
    title: str = ""  # of a new topic
    replaces: LineRange | None = None  # lines that give way to the statement
    old_text: str = ""  # what stands on them
    kept_before: str = ""  # old_text == kept_before + the sentence that gives way + kept_after; the new lines are
    kept_after: str = ""  # kept_before + the statement with its footnote + kept_after


@dataclass(frozen=True, slots=True)
class Update:
    """A candidate that passed the gate, compared with the topics."""

    candidate: Candidate
    relation: Relation
    place: Place
    why: str  # the comparison in a sentence, for the reviewer


WEIGHT = {  # what a person wants to see first: what is wrong in a topic before what is missing
    Relation.SUPERSEDES: 0.4,
    Relation.CONTRADICTS: 0.3,
    Relation.EXTENDS: 0.1,
    Relation.NEW: 0.1,
    Relation.DRIFT: 0.2,
    Relation.EARLIER: 0.1,
}
QUESTIONS = frozenset({Relation.DRIFT, Relation.EARLIER})  # flagged for the person, and never offered as an update


class State(StrEnum):
    """What became of a hunk."""

    QUEUED = "queued"  # found, and waiting for a day with room
    FLAGGED = "flagged"  # one of QUESTIONS: asked about in a review, offered to nobody
    PENDING = "pending"  # in a proposal, waiting for a person
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    EXPIRED = "expired"  # nobody decided in time
    RETIRED = "retired"  # its target changed so that it fits no longer
    REVERTED = "reverted"


OPEN = frozenset({State.QUEUED, State.FLAGGED, State.PENDING})


@dataclass(frozen=True, slots=True)
class Hunk:
    """One change as it was proposed."""

    id: str  # 12 hexadecimal digits
    update: Update
    text: str  # what the topic would say; differs from the candidate's where a person reworded it
    found: dt.date
    base: str = ""  # sha256 of the target when it was placed; empty where there was no such file
    anchor: str = ""  # the line it was placed behind
    heading: str = ""  # the heading line above it
    state: State = State.QUEUED
    proposal: str = ""  # name of its folder; empty while it is queued
    proposed: dt.date | None = None
    decided: dt.datetime | None = None
    reason: str = ""  # why it was rejected, retired or expired

    @property
    def target(self) -> SourcePath:
        return self.update.place.target

    @property
    def is_open(self) -> bool:
        return self.state in OPEN

    @property
    def quotes(self) -> tuple[Quote, ...]:
        return self.update.candidate.quotes

    @property
    def worth(self) -> float:
        """What hunks are sorted by, best first."""
        return self.update.candidate.confidence + WEIGHT.get(self.update.relation, 0.0)


@dataclass(frozen=True, slots=True)
class Rejection:
    """One no of a person."""

    hunk: str
    target: str
    text: str
    reason: str
    at: dt.datetime
    quotes: tuple[Quote, ...]


def identity_of(quotes: Sequence[Quote], target: str) -> str:
    """The name of a hunk: of its evidence and target alone."""
    evidence = sorted(f"{quote.entry}:{quote.first}-{quote.end}" for quote in quotes)
    return hashlib.sha256("\n".join([target, *evidence]).encode()).hexdigest()[:12]


def hash_of(text: str | None) -> str:
    """What tells one state of a file from another; empty for a file that is not there."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() if text is not None else ""
