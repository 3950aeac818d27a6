"""What a session start says of proposals and approvals: what waits, and what nobody answered for."""

from collections.abc import Sequence

from dream.decisions.accept import Decisions
from dream.decisions.approvals import Unexplained, doubts_for_model, doubts_for_person, in_a_line, suspicious
from dream.progress import DreamProgress
from dream.records import State
from memory_server.errors import OneirosError
from memory_server.escaping import plural
from oneiros.hooks.session_start import ReviewLines

TO_REVIEW = "oneiros review"
TO_DREAM = "sessions wait to be read: /oneiros:dream"


def read_review(decisions: Decisions) -> ReviewLines:
    """What is to be said of a memory's proposals and approvals; doubts count as told from now on."""
    proposed, now = sum(hunk.state is State.PENDING for hunk in decisions.store.hunks()), decisions.now()
    found: Sequence[Unexplained] = ()
    try:
        found, unsigned = decisions.doubts()
        doubts = [*doubts_for_person(unsigned.new_changes(now)), *map(in_a_line, unsigned.since_session(now))]
        unsigned.note_announced(now)
    except OneirosError as error:
        doubts = [str(error)]
    waits = say_what_waits(proposed, found) or (TO_DREAM if DreamProgress(decisions.root).glance(now) else "")
    return ReviewLines([waits] if waits else [], doubts, doubts_for_model(found))


def say_what_waits(proposed: int, unexplained: Sequence[Unexplained]) -> str:
    """How many proposals and files wait for the person, in a clause; empty where none does."""
    doubted = len(suspicious(unexplained))
    retitled = len(unexplained) - doubted
    counts = [plural(proposed, "proposal")] if proposed else []
    counts += [plural(retitled, "new title")] if retitled else []
    counts += [plural(doubted, "file") + " that nobody approved"] if doubted else []
    verb = "waits" if proposed + len(unexplained) == 1 else "wait"
    return f"{' and '.join(counts)} {verb}: {TO_REVIEW}" if counts else ""
