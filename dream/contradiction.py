"""Whether one statement puts something else in the place of another, and how surely.

Three ways are known. A value: the same slot of the same subject, filled differently. A denial: one says that something
is or was, the other that it never did. A replacement: the later names what it does away with (`instead of npm`), and that
stands in the earlier. Each gives 0 to 1 by how much of the subject is shared; the surest counts.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import product

from dream.speech.acts import CORRECTED, NEGATED
from dream.speech.sentences import clause_spans
from dream.speech.values import Value, ValueKind, values_in
from dream.speech.words import Rarity, content_words

ALTERNATIVES = re.compile(r",?\s+(?:or|nor|and)\s+(?:any\s+)?|,\s+", re.IGNORECASE)
REPLACED = re.compile(
    r"\b(?:instead of|rather than|no longer (?:use|on|in|at)?|stop(?:ped)? using|not|over|replac(?:es|ed|ing)|away from"
    r"|drop(?:s|ped|ping)?|off)\s+(?P<what>(?:the |a |an )?[\w./+#-]+)",
    re.IGNORECASE,
)
SMALL_CONTEXT = 3  # telling words; a clause with fewer leans on its sentence to say what it is about
DOUBT = 1.0  # average telling words added to the smaller context, so that one shared word of one is not certainty


@dataclass(frozen=True, slots=True, order=True)
class Against:
    """How surely one statement goes against another, and why in a few words."""

    score: float  # 0 to 1
    why: str = ""


def contradiction_of(later: str, context: str, earlier: str, rarity: Rarity) -> Against:
    """How surely the later statement, which stands in the sentence `context`, goes against the earlier one."""
    found = [Against(0.0), *_values(later, context, earlier, rarity)]
    found += _denials(later, earlier, rarity)
    found += _replacements(later, earlier, rarity)
    return max(found)


def weigh(words: Collection[str], rarity: Rarity) -> float:
    """How much some words tell together."""
    return sum(rarity.of(word) for word in words)


def share_of(part: Collection[str], whole: Collection[str], rarity: Rarity) -> float:
    """How much of the telling of `whole` lies in `part`, 0 to 1."""
    total = weigh(whole, rarity)
    return min(1.0, weigh(part, rarity) / total) if total else 0.0


def is_negated(text: str) -> bool:
    """Whether a clause denies: `X, not Y` states X."""
    return bool(NEGATED.search(text)) and not CORRECTED.search(text)


# -- another value in the same slot ---------------------------------------------------------------------------------


def _values(later: str, context: str, earlier: str, rarity: Rarity) -> Iterator[Against]:
    around = set(content_words(context)) if len(set(content_words(later))) < SMALL_CONTEXT else set()
    theirs = [value for value in values_in(earlier) if not value.is_former]
    ours = [value for value in values_in(later) if not value.is_former]
    held = {value.value for value in ours}
    for new in ours:
        rivals = [old for old in theirs if is_same_slot(new, old)]
        if any(old.value == new.value for old in rivals):
            continue
        for old in rivals:
            if old.value not in held:
                why = f"{later[new.first : new.end].strip()} where it says {earlier[old.first : old.end].strip()}"
                yield Against(_slot_score(new, old, around, rarity), why)


def is_same_slot(new: Value, old: Value) -> bool:
    """Whether two values could fill the same slot, by kind and unit alone."""
    if new.kind is not old.kind:
        return False
    if new.kind is ValueKind.QUANTITY:
        return new.unit == old.unit or new.unit in old.near or old.unit in new.near
    return True


def _slot_score(new: Value, old: Value, around: Collection[str], rarity: Rarity) -> float:
    """How much the words around two values are the same, 0 to 1."""
    ours = new.near | ({new.unit} if new.unit else set()) | set(around)
    theirs = old.near | ({old.unit} if old.unit else set())
    shared = weigh(ours & theirs, rarity)
    weights = sorted((weigh(ours, rarity), weigh(theirs, rarity)))
    if not weights[0]:
        return 0.0
    if new.kind is ValueKind.NAME:
        return shared / weights[1]
    doubt = DOUBT * weights[0] / max(1, min(len(ours), len(theirs)))
    return shared / (weights[0] + doubt)


# -- a denial -------------------------------------------------------------------------------------------------------


def _denials(later: str, earlier: str, rarity: Rarity) -> Iterator[Against]:
    for ours, theirs in product(_clauses(later), _clauses(earlier)):
        if is_negated(ours) == is_negated(theirs):
            continue
        denied, affirmed = (ours, earlier) if is_negated(ours) else (theirs, later)
        yield Against(_denial_score(denied, affirmed, rarity), "one denies what the other says")


def _clauses(text: str) -> list[str]:
    return [text[first:end] for first, end in clause_spans(text, 0, len(text))]


def _denial_score(denied: str, affirmed: str, rarity: Rarity) -> float:
    """The best share of an alternative of what is denied (`wrote routes or handled requests`) in what is affirmed."""
    theirs = set(content_words(affirmed))
    alternatives = [set(content_words(part)) for part in ALTERNATIVES.split(denied)]
    scores = [
        share_of(words & theirs, words, rarity)
        for words in (*alternatives, set(content_words(denied)))
        if len(words & theirs) >= 2 or (words and words == theirs)
    ]
    return max(scores, default=0.0)


# -- a replacement --------------------------------------------------------------------------------------------------


def _replacements(later: str, earlier: str, rarity: Rarity) -> Iterator[Against]:
    theirs = set(content_words(earlier))
    for match in REPLACED.finditer(later):
        gone = set(content_words(match["what"]))
        rest = set(content_words(later)) - gone
        if gone and gone <= theirs and not is_negated(earlier):
            others = share_of(rest & theirs, min(rest, theirs - gone, key=len), rarity)
            yield Against(0.5 + 0.5 * others, f"it does away with {match['what']}")
