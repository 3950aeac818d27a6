"""The order in which a review asks: the best first, and nothing that takes a line away before all that only adds."""

from collections.abc import Iterable
from enum import IntEnum

from dream.records import QUESTIONS, Hunk, Kind, State

SURE = 0.75  # confidence from which its reader was sure: that of a sure finding, see `candidates.py`
KINDS = (
    *(Kind.RULE, Kind.DECISION, Kind.PREFERENCE, Kind.CORRECTION, Kind.FACT, Kind.HABIT, Kind.LESSON),
    Kind.FINDING,
)


class Tier(IntEnum):
    """Which hunks come before others in a review."""

    SURE = 0
    UNSURE = 1
    REPLACING = 2
    QUESTION = 3


def find_tier(hunk: Hunk) -> Tier:
    """Which hunks come before others in a review."""
    if hunk.update.relation in QUESTIONS:
        return Tier.QUESTION
    if hunk.update.place.old_text or hunk.origin:
        return Tier.REPLACING
    return Tier.SURE if hunk.update.candidate.confidence >= SURE else Tier.UNSURE


def in_review_order(hunks: Iterable[Hunk]) -> list[Hunk]:
    """The hunks by their tier, in each tier topic by topic, the topic with the best kind first, and by kind.

    What is alike in all of this stays in the order in which it was given.
    """
    given = list(hunks)
    ranks = [(find_tier(hunk), hunk.target, KINDS.index(hunk.update.candidate.kind)) for hunk in given]
    best: dict[tuple[Tier, str], tuple[int, int]] = {}  # the best kind of a topic in a tier, and where it is first met
    for place, (tier, target, kind) in enumerate(ranks):
        known = best.get((tier, target), (kind, place))
        best[tier, target] = min(known[0], kind), known[1]
    order = sorted(range(len(given)), key=lambda at: (ranks[at][0], best[ranks[at][:2]], ranks[at][2]))
    return [given[at] for at in order]


def waiting_for_person(hunks: Iterable[Hunk]) -> list[Hunk]:
    """The hunks that a review asks about, in its order."""
    return in_review_order(hunk for hunk in hunks if hunk.state in (State.PENDING, State.FLAGGED))


def rest_of_topic(hunk: Hunk, hunks: Iterable[Hunk]) -> list[Hunk]:
    """What else of some hunks is taken with one of its topic; what replaces a line is asked about by itself."""
    return [one for one in hunks if one.target == hunk.target and one.id != hunk.id and find_tier(one) < Tier.REPLACING]
