"""A hunk: one change of one file, with the words it rests on and what became of it.

Its identity is its evidence and its target. The session is left out of it, since a fork copies entries under the same
ids: the same words never ask twice.
"""

import datetime as dt
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from dream.records import Quote, Relation, Update
from memory_server.document import SourcePath

WEIGHT = {  # what a person wants to see first: what is wrong in a topic before what is missing
    Relation.SUPERSEDES: 0.4,
    Relation.CONTRADICTS: 0.3,
    Relation.EXTENDS: 0.1,
    Relation.NEW: 0.1,
    Relation.DRIFT: 0.2,
}


class State(StrEnum):
    """What became of a hunk."""

    QUEUED = "queued"  # found, and waiting for a day with room
    FLAGGED = "flagged"  # against a decision of long ago: shown to the person, offered to nobody
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


def identity_of(quotes: Sequence[Quote], target: str) -> str:
    """The name of a hunk: of its evidence and target alone."""
    evidence = sorted(f"{quote.entry}:{quote.first}-{quote.end}" for quote in quotes)
    return hashlib.sha256("\n".join([target, *evidence]).encode()).hexdigest()[:12]


def hash_of(text: str | None) -> str:
    """What tells one state of a file from another; empty for a file that is not there."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() if text is not None else ""
