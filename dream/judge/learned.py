"""What the person's decisions teach this memory: how much likelier they take up one kind of statement than another.

Counts and nothing else: of each kind, and of whose words they are and who read them, how many hunks were accepted and
how many rejected. Read anew from the proposals; all that is kept of its own is the moment from which on they count.
"""

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass

from dream.records import DirectWords, Hunk, State
from memory_server.language.cues import ignore_case
from memory_server.machine.files import replace_file
from memory_server.root.paths import MemoryRoot

PRIOR = 2.0  # imagined decisions each way: the first few real ones move little
MOST_SHIFT = 1.5  # of log-odds
ABOUT_FORM = ignore_case(
    r"\b(?:word(?:s|ing|ed)|(?:re)?phras\w*|typos?|spelling|duplicates?|already|known|twice|(?:wrong|other) topic)\b"
)  # of a reason: it was turned down as it stood, not for what it is


@dataclass(frozen=True, slots=True)
class Count:
    """Decisions about one sort of statement."""

    accepted: int
    rejected: int

    @property
    def log_odds(self) -> float:
        return math.log((self.accepted + PRIOR) / (self.rejected + PRIOR))


class Learned:
    """What was decided about these hunks, as far as it was after `since`."""

    def __init__(self, decided: Sequence[Hunk], since: dt.datetime | None = None):
        self._decisions = [
            (hunk.state, (str(hunk.update.candidate.kind), hunk.update.candidate.source))
            for hunk in decided
            if _is_decision(hunk, since)
        ]

    def count(self, sort: str) -> Count:
        """Of a kind, or of a source."""
        states = [state for state, sorts in self._decisions if sort in sorts]
        return Count(states.count(State.ACCEPTED), states.count(State.REJECTED))

    def shift(self, kind: str, source: str) -> float:
        """What to add to the log-odds of a candidate; 0.0 in a memory without decisions about its like."""
        mean = (self.count(kind).log_odds + self.count(source).log_odds) / 2
        return max(-MOST_SHIFT, min(MOST_SHIFT, mean))

    def gain(self, kind: str, source: str, confidence: float) -> float:
        """What the decisions add to a candidate's confidence."""
        sure = min(max(confidence, 0.01), 0.99)
        odds = math.log(sure / (1 - sure)) + self.shift(kind, source)
        return 1 / (1 + math.exp(-odds)) - sure

    def words(self, kind: str, source: str) -> str:
        """Both counts and what they come to, for the person."""
        counts = [(sort, self.count(sort)) for sort in (kind, source)]
        counted = "; ".join(f"{sort}: {one.accepted} accepted, {one.rejected} rejected" for sort, one in counts)
        return f"{counted}: {self.shift(kind, source):+.2f} to its log-odds"


def _is_decision(hunk: Hunk, since: dt.datetime | None) -> bool:
    is_own = any(isinstance(words, DirectWords) for words in hunk.evidence) or hunk.origin  # nobody had suggested it
    if is_own or hunk.decided is None or (since and hunk.decided <= since):
        return False
    return hunk.state is State.ACCEPTED or (hunk.state is State.REJECTED and not ABOUT_FORM.search(hunk.reason))


def read_learning_start(root: MemoryRoot) -> dt.datetime | None:
    """The moment from which on decisions count; None where all do."""
    try:
        return dt.datetime.fromisoformat(root.learning_start.read_text(encoding="ascii").strip())
    except (FileNotFoundError, ValueError):
        return None


def forget_learned(root: MemoryRoot, now: dt.datetime) -> None:
    """Lets no decision before this moment count any more; the decisions themselves stay."""
    replace_file(root.learning_start, f"{now.isoformat()}\n".encode("ascii"))
