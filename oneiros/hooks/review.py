"""What a session start says of proposals and approvals: what waits, and what nobody answered for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dream.decisions.accept import Decisions
from dream.decisions.approvals import Unexplained, doubts_for_model, doubts_for_person, in_a_line, suspicious
from dream.progress import DreamProgress
from dream.records import State
from memory_server.errors import OneirosError
from memory_server.escaping import plural

TO_REVIEW = "oneiros review"
TO_DREAM = "sessions wait to be read: /oneiros:dream"


@dataclass(frozen=True, slots=True)
class ReviewNotice:
    """For the person what waits; for the model whether something is left out that nobody approved."""

    decisions: Callable[[], Decisions]

    def waiting(self) -> list[str]:
        """What waits for the person, in a clause; of nothing but sessions to be read, that."""
        decisions = self.decisions()
        proposed = sum(hunk.state is State.PENDING for hunk in decisions.store.hunks())
        try:
            found = decisions.find_unexplained()
        except OneirosError:
            found = []  # `doubts` says why
        if waits := say_what_waits(proposed, found):
            return [waits]
        return [TO_DREAM] if DreamProgress(decisions.root).glance(decisions.now()) else []

    def doubts(self) -> Sequence[str]:
        """What nobody answered for, a line each; it counts as told from now on."""
        try:
            decisions = self.decisions()
            (_, unsigned), now = decisions.doubts(), decisions.now()
            told = [*doubts_for_person(unsigned.new_changes(now)), *map(in_a_line, unsigned.since_session(now))]
            unsigned.note_told(now)
            return told
        except OneirosError as error:
            return [str(error)]

    def for_model(self) -> list[str]:
        """That something is left out; the same while the memory is the same."""
        try:
            return doubts_for_model(self.decisions().find_unexplained())
        except OneirosError:
            return []  # a hook stays silent; the report says it


def say_what_waits(proposed: int, unexplained: Sequence[Unexplained]) -> str:
    """How many proposals and files wait for the person, in a clause; empty where none does."""
    doubted = len(suspicious(unexplained))
    retitled = len(unexplained) - doubted
    counts = [plural(proposed, "proposal")] if proposed else []
    counts += [plural(retitled, "new title")] if retitled else []
    counts += [plural(doubted, "file") + " that nobody approved"] if doubted else []
    verb = "waits" if proposed + len(unexplained) == 1 else "wait"
    return f"{' and '.join(counts)} {verb}: {TO_REVIEW}" if counts else ""
