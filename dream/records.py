"""What passes between the rooms of dream: evidence, candidates, and where in the topics they would go.

Quote -> candidate (an extractor's suggestion) -> through the gate -> update (compared with the topics and placed in
one) -> hunk: one change of one file, with what became of it. A hunk's identity is its evidence and its target. The
session is left out of it, since a fork copies entries under the same ids: the same words never ask twice. Evidence is
a quote of a session, a passage of a file that a person wrote, or what a person told oneiros directly.
"""

import datetime as dt
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

import msgspec

from crawler.quotes import Quote
from crawler.transcripts.turns import Role
from dream.changes import hash_text
from memory_server.document import LineRange, SourcePath
from memory_server.machine.clock import find_day_begin

UNSAFE_IN_NAME = re.compile(r"[^\w./~@+ -]")
TYPES = ("", "semantic", "procedural", "episodic")  # of a topic
NAMESPACE, TAG = re.compile(r"(?:[\w-]{1,40}(?:/[\w-]{1,40}){0,3})?"), re.compile(r"[\w.-]{1,40}")
CITATION = re.compile(r"(?:https?://|[\w~.-]+/|[\w-]+\.)[^\s;<>\"\[\]]{1,280}")  # an address, or the name of a file
WORD = re.compile(r"[^\W_]+")
MOST_VALUES = 8  # tags, and citations, of one statement
LESSON_LEAD = "Check first: "  # what makes the statement of a mistake a check before the task; nobody said it


class Kind(StrEnum):
    """What sort of thing was said."""

    CORRECTION = "correction"
    PREFERENCE = "preference"
    RULE = "rule"
    DECISION = "decision"
    FACT = "fact"
    HABIT = "habit"  # asked for in three or more sessions
    FINDING = "finding"  # of the assistant, which nobody took back; below what the person said
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


class Written(msgspec.Struct, frozen=True, tag="written"):
    """Words of a file that a person wrote. A struct, since a list of two kinds on the disk needs a tag."""

    file: str  # ~/src/app/CLAUDE.md; absolute where it does not lie in the home
    line: int  # on which they begin, counted from 1
    text: str  # as the file holds them; line ends and other white space may differ
    day: dt.date | None = None  # on which they were written, as far as known

    @property
    def mark(self) -> str:
        """What tells these words from others: a line that moves stays the same words."""
        return f"{self.file}:{hash_text(' '.join(self.text.split()))[:16]}"

    @property
    def time(self) -> dt.datetime | None:
        """When they were written: the first moment of that day."""
        return find_day_begin(self.day) if self.day else None

    def overlaps(self, other: "Words") -> bool:
        """Whether both are the same words of one file."""
        return isinstance(other, Written) and self.mark == other.mark

    def describe_place(self, project: str) -> str:
        """Where they stand, by the project where the file lies in a folder of that name: `docs/build.md:12 of app`."""
        parts = PurePosixPath(self.file).parts
        if not project or project not in parts[:-1]:
            return f"{_plain(self.file)}:{self.line}"
        below = parts[len(parts) - parts[::-1].index(project, 1) :]
        return f"{_plain('/'.join(below))}:{self.line} of {_plain(project)}"


class DirectWords(msgspec.Struct, frozen=True, tag="told"):
    """What a person said directly to oneiros, at their terminal."""

    text: str
    time: dt.datetime  # aware

    @property
    def mark(self) -> str:
        """What tells these words from others; said again they are others."""
        return f"told {self.time.isoformat()}:{hash_text(self.text)[:16]}"

    def overlaps(self, other: "Words") -> bool:
        """Whether both are the same words of one moment."""
        return self == other

    def describe_place(self, project: str) -> str:  # noqa: ARG002  as of words that stand somewhere
        """In a footnote's words, how it came here."""
        return "said directly"


def _plain(name: str) -> str:
    """A name of a file as a footnote holds it: nothing in it can pass for a further source."""
    return UNSAFE_IN_NAME.sub(lambda match: f"%{ord(match[0]):02X}", name)


Given = Written | DirectWords
Words = Quote | Given


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a topic that a statement founds is filed under, and what the statement cites."""

    type: str = ""  # semantic, procedural or episodic
    namespace: str = ""
    tags: tuple[str, ...] = ()
    citations: tuple[str, ...] = ()  # addresses and names of files

    @property
    def fault(self) -> str:
        """What is wrong with it; empty where nothing is. Nothing in it can pass for a further part of a footnote."""
        if self.type not in TYPES or not NAMESPACE.fullmatch(self.namespace):
            return f"type is {', '.join(TYPES[1:])}; namespace is words joined by /."
        is_long = max(len(self.tags), len(self.citations)) > MOST_VALUES
        if is_long or not all(map(TAG.fullmatch, self.tags)) or not all(map(CITATION.fullmatch, self.citations)):
            return f"tags are single words, citations addresses or names of files; {MOST_VALUES} of each at most."
        return ""

    def collect_values(self) -> dict[str, Sequence[str]]:
        """What there is of it, by its name."""
        every = {"type": [self.type], "namespace": [self.namespace], "tags": self.tags, "citations": self.citations}
        return {name: values for name, values in every.items() if any(values)}


@dataclass(frozen=True, slots=True)
class Candidate:
    """One statement that a topic might take up, with the words it rests on."""

    text: str  # what the topic would say: one statement, Markdown, without a provenance footnote
    kind: Kind
    quotes: tuple[Quote, ...]  # the statement's own first; after an assistant's, the person's explicit agreement
    confidence: float  # 0 to 1
    why: str  # what made the extractor take it, for the reviewer
    extractor: str  # the back end that suggests it: deterministic, claude, ...
    topic: str = ""  # that its reader, its file or a person names; empty: the project's own
    section: str = ""  # of that topic
    summary: str = ""  # of that topic, where it is new, in a sentence
    project: str = ""
    context: str = ""  # the sentence around the quote: tells what the statement is about, and is not evidence
    given: tuple[Given, ...] = ()  # evidence that no session holds; then there are no quotes
    metadata: Metadata = Metadata()
    questions: tuple[str, ...] = ()  # that it answers, in other words; searched, never shown
    is_filed: bool = False  # by a person, or by a reader that saw what waits beside it

    @property
    def inferred_metadata(self) -> tuple[str, ...]:
        """The metadata that the person did not say in the words that are quoted: nobody is believed about that."""
        own = (one for one in self.evidence if not isinstance(one, Quote) or one.role is Role.PERSON)
        text = " ".join(one.text for one in own)
        every = (value for values in self.metadata.collect_values().values() for value in values)
        return tuple(one for one in every if not re.search(rf"(?<!\w){re.escape(one)}(?!\w)", text, re.IGNORECASE))

    @property
    def evidence(self) -> tuple[Words, ...]:
        """The words it rests on, its own first."""
        return (*self.quotes, *self.given)

    @property
    def is_agreed(self) -> bool:
        """Whether the words are not the person's own, who agreed to them."""
        return bool(self.quotes) and self.quotes[0].role is Role.ASSISTANT and self.kind is not Kind.FINDING

    @property
    def source(self) -> str:
        """Who read the words, and where they are not the person's own, that they agreed to them."""
        return f"{self.extractor}, agreed" if self.is_agreed else self.extractor


@dataclass(frozen=True, slots=True)
class StatementOrigin:
    """Where an accepted statement stands that is to move to another topic."""

    path: SourcePath
    text: str  # as it stands there
    approval: str  # name of the decision by which it does


@dataclass(frozen=True, slots=True)
class Place:
    """Where a statement goes. A target that does not exist yet is a new file with `title` as its heading."""

    target: SourcePath  # topics/<name>.md or lessons.md
    after_line: int  # insert behind this line of the file as it is today, counted from 1; 0 in a new file
    title: str = ""  # of a new topic
    summary: str = ""  # likewise
    section: str = ""  # at the end of which it goes, made where there is none; empty: behind the line
    replaces: LineRange | None = None  # lines that give way to the statement
    old_text: str = ""  # what stands on them
    kept_before: str = ""  # old_text == kept_before + the sentence that gives way + kept_after; the new lines are
    kept_after: str = ""  # kept_before + the statement with its footnote + kept_after
    origin: StatementOrigin | None = None  # of a statement that moves: it goes there as it comes here


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
    def origin(self) -> StatementOrigin | None:
        return self.update.place.origin

    @property
    def paths(self) -> tuple[SourcePath, ...]:
        """The files that say something else once it is accepted: where it goes, and where it comes from."""
        return (self.target, self.origin.path) if self.origin else (self.target,)

    @property
    def is_open(self) -> bool:
        return self.state in OPEN

    @property
    def quotes(self) -> tuple[Quote, ...]:
        return self.update.candidate.quotes

    @property
    def evidence(self) -> tuple[Words, ...]:
        return self.update.candidate.evidence

    @property
    def file(self) -> str:
        """The file of a person's that it was written in; empty for what was said."""
        return next((words.file for words in self.update.candidate.given if isinstance(words, Written)), "")

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
    given: tuple[Given, ...] = ()
    project: str = ""  # of the statement

    @property
    def evidence(self) -> tuple[Words, ...]:
        return (*self.quotes, *self.given)


def split_words(text: str) -> list[str]:
    """The words of a statement in their order, case and footnotes left out: what makes two of them the same."""
    bare = re.sub(r"\[\^[^\]\s]+\]", "", text)
    return [word.casefold() for word in WORD.findall(bare)]


def are_apart(one: str, other: str) -> bool:
    """Whether two projects are told apart; what has none is the person's own and stands beside each."""
    return bool(one and other) and one.casefold() != other.casefold()


def make_hunk_id(evidence: Sequence[Words], target: str, origin: StatementOrigin | None = None) -> str:
    """The name of a hunk: of its evidence and target alone; of a move also of the decision that it moves."""
    marks = sorted(words.mark for words in evidence)
    moved = [origin.approval] if origin else []
    return hashlib.sha256("\n".join([target, *marks, *moved]).encode()).hexdigest()[:12]
