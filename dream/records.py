"""What passes between the rooms of dream: evidence, candidates, and where in the topics they would go.

Frozen data, no behaviour. Quote -> candidate (an extractor's suggestion) -> through the gate -> update (compared with
the topics and placed in one) -> hunk of a proposal.
"""

import datetime as dt
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
    context: str = (
        ""  # the sentence around the quote; it helps to tell what the statement is about, and is not evidence
    )


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
