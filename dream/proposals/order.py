"""The order in which a review asks: the best first, and nothing that takes a line away before all that only adds."""

from collections.abc import Iterable
from enum import IntEnum

from dream.records import QUESTIONS, Hunk, Kind, State

SURE = 0.75  # confidence from which its reader was sure: that of a sure finding, see `candidates.py`
KINDS = (
    *(Kind.RULE, Kind.DECISION, Kind.PREFERENCE, Kind.CORRECTION, Kind.FACT, Kind.HABIT, Kind.LESSON),
    Kind.FINDING,
)


class Turn(IntEnum):
    """When a hunk comes in a review."""

    SURE = 0
    UNSURE = 1
    REPLACING = 2
    QUESTION = 3


def turn_of(hunk: Hunk) -> Turn:
    """When a hunk comes in a review."""
    if hunk.update.relation in QUESTIONS:
        return Turn.QUESTION
    if hunk.update.place.old_text:
        return Turn.REPLACING
    return Turn.SURE if hunk.update.candidate.confidence >= SURE else Turn.UNSURE


def in_review_order(hunks: Iterable[Hunk]) -> list[Hunk]:
    """The hunks by their turn, in each turn topic by topic, the topic with the best kind first, and by kind.

    What is alike in all of this stays in the order in which it was given.
    """
    given = list(hunks)
    ranks = [(turn_of(hunk), hunk.target, KINDS.index(hunk.update.candidate.kind)) for hunk in given]
    best: dict[tuple[Turn, str], tuple[int, int]] = {}  # the best kind of a topic in a turn, and where it is first met
    for place, (turn, target, kind) in enumerate(ranks):
        known = best.get((turn, target), (kind, place))
        best[turn, target] = min(known[0], kind), known[1]
    order = sorted(range(len(given)), key=lambda at: (ranks[at][0], best[ranks[at][:2]], ranks[at][2]))
    return [given[at] for at in order]


def waiting_for_person(hunks: Iterable[Hunk]) -> list[Hunk]:
    """The hunks that a review asks about, in its order."""
    return in_review_order(hunk for hunk in hunks if hunk.state in (State.PENDING, State.FLAGGED))


def rest_of_topic(hunk: Hunk, hunks: Iterable[Hunk]) -> list[Hunk]:
    """What else of some hunks is taken with one of its topic; what replaces a line is asked about by itself."""
    return [one for one in hunks if one.target == hunk.target and one.id != hunk.id and turn_of(one) < Turn.REPLACING]
