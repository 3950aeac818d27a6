"""Whether one statement says with the words of another the other way round: 5 of what the other says 3 of, after what
it says before, from where it says to, or with the doer and the done exchanged.

Told by what stands beside values that both hold, behind `before` and `after`, and by what leads two words or stands
between them. No passive is turned into an active, and what `and` or a comma joins has no order.
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from dream.statements.values import Value, find_values
from memory_server.language.cues import ignore_case
from memory_server.language.words import FUNCTION_WORDS, content_words, stem

MARKED = ignore_case(
    r"\b(?P<mark>before|after)\b(?P<what>.*?)(?=[,.;:!?](?:\s|$)|\b(?:before|after|and|or|but)\b|\n|$)"
)  # what is told to come later, or earlier
Beside = dict[str, frozenset[str]]  # the telling words on one side of each value, up to the next one
TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)?|[,;:!?()&]|\.(?=\s|$)")
LEADING = frozenset(
    """
    about after against as at because before behind below between by during for from if in into like not of off on once
    onto over per since than through to toward towards under unless until upon via when where while with within without
    """.split()
)  # says what the words behind it are to the others
BREAKS = frozenset(", ; : . ! ? ( ) & and but nor or".split())
MOST_WORDS = 200  # of a text that is a statement; of a longer one every two words would be compared
BROKEN = "?"  # the lead of words behind a break: whether the one ahead of it holds on is open


class _Word(NamedTuple):
    """A word with what leads it, or an empty string, and how many breaks are ahead of it."""

    stem: str
    lead: str
    run: int


def are_turned_round(ours: str, theirs: str) -> bool:
    """Whether a statement exchanges what another one tells apart: values, an order in time, or what is led by what."""
    sides = zip(_find_beside(ours), _find_beside(theirs), strict=True)
    is_turned = any(_are_exchanged(mine, other) for mine, other in sides)
    return is_turned or _is_order_turned(ours, theirs) or _are_roles_turned(_read_words(ours), _read_words(theirs))


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


def _read_words(text: str) -> list[_Word]:
    """The words of a text in order. A single capital is a name."""
    found, lead, run = list[_Word](), "", 0
    for token in TOKEN.findall(text):
        plain = token.replace("’", "'").casefold().removesuffix("'s")
        if plain in BREAKS:
            lead, run = BROKEN, run + 1
        elif plain in LEADING:
            lead = plain
        elif plain not in FUNCTION_WORDS or (len(token) == 1 and token.isupper()):
            found.append(_Word(stem(plain), lead, run))
    return found


def _are_roles_turned(ours: Sequence[_Word], theirs: Sequence[_Word]) -> bool:
    """Whether two words that each has once exchange what leads them, or, led alike, their sides of a third word."""
    if max(len(ours), len(theirs)) > MOST_WORDS:
        return False
    mine, other = ({word.stem: at for at, word in enumerate(words)} for words in (ours, theirs))
    counts = Counter(word.stem for word in (*ours, *theirs))
    for one, two in combinations((word for word in mine.keys() & other.keys() if counts[word] == 2), 2):
        places, its_places = sorted((mine[one], mine[two])), sorted((other[one], other[two]))
        leads = ours[mine[one]].lead, ours[mine[two]].lead
        if leads != (theirs[other[two]].lead, theirs[other[one]].lead) or BROKEN in leads:
            continue
        is_turned = (mine[one] < mine[two]) is not (other[one] < other[two])
        if leads[0] != leads[1] or (is_turned and _find_between(ours, *places) & _find_between(theirs, *its_places)):
            return True
    return False


def _find_between(words: Sequence[_Word], first: int, last: int) -> set[_Word]:
    """The words between two that are led as these are and stand before the same break."""
    return {word for word in words[first + 1 : last] if word[1:] == words[first][1:] == words[last][1:]}
