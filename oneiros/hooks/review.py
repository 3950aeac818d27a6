"""What a session start says of proposals and approvals: what waits, and what nobody answered for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dream.decisions.accept import Decisions
from dream.decisions.approvals import doubts_for_model, doubts_for_person, in_a_line
from dream.progress import DreamProgress
from dream.records import State
from memory_server.errors import OneirosError


@dataclass(frozen=True, slots=True)
class ReviewNotice:
    """For the person what waits; for the model which approved files it should not rely on."""

    decisions: Callable[[], Decisions]

    def for_person(self) -> list[str]:
        """A line each for the last dream, what waits for review and what is unexplained."""
        decisions = self.decisions()
        progress = DreamProgress(decisions.root)
        last, waits = progress.read().last_run, progress.glance(decisions.now())
        pending = [hunk for hunk in decisions.store.hunks() if hunk.state is State.PENDING]
        return [
            (f"Last dream: {last:%Y-%m-%d}." if last else "No dream yet.")
            + (" Sessions wait to be read: /oneiros:dream" if waits else ""),
            f"Waiting for you: {len(pending)} proposed changes; `oneiros review` in a terminal of your own."
            if pending
            else "Nothing waits for your review.",
            *_doubts(decisions),
        ]

    def for_model(self) -> list[str]:
        """The warning about changes that no acceptance explains; the same while the memory is the same."""
        try:
            return doubts_for_model(self.decisions().unexplained())
        except OneirosError:
            return []  # a hook stays silent; the report says it


def _doubts(decisions: Decisions) -> Sequence[str]:
    """What is unexplained and what is unsigned; the latter counts as told from now on."""
    try:
        (found, unsigned), now = decisions.doubts(), decisions.now()
        told = [*doubts_for_person(found), *map(in_a_line, unsigned.since_session(now))]
        unsigned.note_told(now)
        return told
    except OneirosError as error:
        return [str(error)]
