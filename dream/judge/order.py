"""Whether one statement says with the words of another the other way round: 5 of what the other says 3 of, or after
what it says before.

Told by what stands beside values that both hold, and behind `before` and `after`; who does what to whom is not told.
"""

from collections.abc import Sequence
from itertools import combinations

from dream.statements.values import Value, find_values
from memory_server.language.cues import ignore_case
from memory_server.language.words import content_words

MARKED = ignore_case(
    r"\b(?P<mark>before|after)\b(?P<what>.*?)(?=[,.;:!?](?:\s|$)|\b(?:before|after|and|or|but)\b|\n|$)"
)  # what is told to come later, or earlier
Beside = dict[str, frozenset[str]]  # the telling words on one side of each value, up to the next one


def are_turned_round(ours: str, theirs: str) -> bool:
    """Whether a statement exchanges what another one tells apart, by values or by `before` and `after`."""
    sides = zip(_find_beside(ours), _find_beside(theirs), strict=True)
    return any(_are_exchanged(mine, other) for mine, other in sides) or _is_order_turned(ours, theirs)


def _is_order_turned(ours: str, theirs: str) -> bool:
    """Whether something stands behind `before` in one statement and behind `after` in the other."""
    mine, other = _find_marked(ours), _find_marked(theirs)
    return any((mine[one] & other[two]) - other[one] for one, two in (("before", "after"), ("after", "before")))


def _find_marked(text: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {"before": set(), "after": set()}
    for match in MARKED.finditer(text):
        found[match["mark"].casefold()].update(content_words(match["what"]))
    return found


def _find_beside(text: str) -> tuple[Beside, Beside]:
    """The words ahead of each value of a text, and those behind it."""
    values = find_values(text)
    ends, firsts = [0, *(value.end for value in values)], [*(value.first for value in values), len(text)]
    between = [frozenset(content_words(text[end:first])) for end, first in zip(ends, firsts, strict=True)]
    return _join(values, between[:-1]), _join(values, between[1:])


def _join(values: Sequence[Value], words: Sequence[frozenset[str]]) -> Beside:
    found: Beside = {}
    for value, beside in zip(values, words, strict=True):
        found[value.value] = found.get(value.value, frozenset()) | beside
    return found


def _are_exchanged(ours: Beside, theirs: Beside) -> bool:
    """Whether more words stand beside the other one of two values than beside the same."""
    for one, other in combinations(ours.keys() & theirs.keys(), 2):
        crossed = [len(ours[one] & theirs[other]), len(ours[other] & theirs[one])]
        straight = len(ours[one] & theirs[one]) + len(ours[other] & theirs[other])
        if all(crossed) and sum(crossed) > straight:
            return True
    return False
