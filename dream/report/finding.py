"""What the weekly review finds: one thing in one place, and what to do about it."""

from dataclasses import dataclass
from enum import StrEnum


class Part(StrEnum):
    """The parts of the review, in the order of their urgency, as they read behind a number and behind `no`."""

    OUTSIDE = "files changed outside of review"
    CONTRADICTION = "contradictions"
    DRIFT = "old decisions gone against"
    EVIDENCE = "statements whose evidence is gone"
    PROPOSALS = "proposals waiting for a decision"
    STALE = "stale topics"
    LINKS = "dead links and pointers"
    PAGE = "problems of MEMORY.md"
    QUERIES = "questions without an answer"
    INDEX = "problems of the indices"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to look at."""

    part: Part
    path: str  # relative to the memory root; empty where it is about none
    line: int  # counted from 1; 0 where it is about none
    what: str
    step: str  # the suggested next one

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}" if self.path and self.line else self.path
