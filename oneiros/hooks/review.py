"""What a session start says of proposals and approvals: what waits, and what nobody answered for."""

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dream.decisions.accept import Decisions
from dream.decisions.approvals import doubts_for_model, doubts_for_person, in_a_line
from dream.progress import DreamProgress
from dream.records import Hunk, State
from memory_server.errors import OneirosError
from memory_server.escaping import shown_line
from memory_server.layers.topics import shortened

BEST = 3  # of what waits, which are named
BEST_CHARS = 70
NEWS_DAYS = 7  # what is older than that is told once a week


@dataclass(frozen=True, slots=True)
class ReviewNotice:
    """For the person what waits; for the model which approved files it should not rely on."""

    decisions: Callable[[], Decisions]

    def for_person(self) -> list[str]:
        """A line each for the last dream, what waits for review and what is unexplained."""
        decisions = self.decisions()
        progress, now = DreamProgress(decisions.root), decisions.now()
        last, waits = progress.read().last_run, progress.glance(now)
        pending = [hunk for hunk in decisions.store.hunks() if hunk.state is State.PENDING]
        return [
            (f"Last dream: {last:%Y-%m-%d}." if last else "No dream yet.")
            + (" Sessions wait to be read: /oneiros:dream" if waits else ""),
            *waiting_lines(pending, now.date()),
            *_doubts(decisions),
        ]

    def for_model(self) -> list[str]:
        """The warning about changes that no acceptance explains; the same while the memory is the same."""
        try:
            return doubts_for_model(self.decisions().unexplained())
        except OneirosError:
            return []  # a hook stays silent; the report says it


def waiting_lines(pending: Sequence[Hunk], today: dt.date) -> list[str]:
    """How many changes wait and the best of them; where nothing was added for a week, on one day of each week only."""
    if not pending:
        return ["Nothing waits for your review."]
    age = (today - max(hunk.proposed or hunk.found for hunk in pending)).days
    if age >= NEWS_DAYS and age % NEWS_DAYS:
        return []
    count = f"{len(pending)} proposed change{'s' * (len(pending) != 1)}"
    best = sorted(pending, key=lambda hunk: (-hunk.worth, hunk.id))[:BEST]
    told = "; ".join(f"“{shortened(shown_line(hunk.text), BEST_CHARS)}”" for hunk in best)
    return [f"Waiting for you: {count}; `oneiros review` in a terminal of your own. The best: {told}"]


def _doubts(decisions: Decisions) -> Sequence[str]:
    """What is unexplained and what is unsigned; the latter counts as told from now on."""
    try:
        (found, unsigned), now = decisions.doubts(), decisions.now()
        told = [*doubts_for_person(found), *map(in_a_line, unsigned.since_session(now))]
        unsigned.note_told(now)
        return told
    except OneirosError as error:
        return [str(error)]
