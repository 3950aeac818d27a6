"""Whether one statement puts something else in the place of another, and how surely.

Two sorts of difference are weighed by what was learnt from labelled pairs: another value, and a denial. A few plain
figures tell how likely both speak of the same: shared words, weighed by rarity, units, sizes. Two more are known by
their words: the later statement names what it does away with (`instead of npm`), or somebody else owns or leads the
same. No model is asked, and no library of machine learning needed: the weights are data, which
`python -m benchmarks.contradictions --write` wrote; `weights.json` names what they were made of.
"""

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from dream.statements.reading import ClauseReading, StatementReading, are_apart, role_of_date
from dream.statements.values import DAYS, MEASURES, Value, ValueKind, are_equal, share_a_scale
from memory_server.language.cues import ignore_case
from memory_server.language.times import MONTH_NAMES
from memory_server.language.words import Rarity, content_words

MOVED = (
    "changed|moved|extended|increased|improved|reduced|updated|switched|renamed|migrated|upgraded|rescheduled|postponed"
    "|bumped|raised|lowered"
)
CHANGE = ignore_case(
    rf"\b(?:now|no longer|any ?more|from now on|(?:has|have|had|was|were|got|been|just|recently|i|we|'ve"
    rf"|'s)\s+(?:\w+\s+)?(?:{MOVED}|decreased|reached|replaced|grown|grew|dropped|shifted)|(?:{MOVED})\s+(?:it\s+"
    rf"|from\s+|(?:[\w'-]+\s+){{0,5}}?to\s+)|instead(?: of)?|rather than|as of|(?<=\w )new|latest|current(?:ly)?"
    rf"|already|so far|managed to|down to|up to|actually|correction|moving|changing|switching|rescheduling|postponing"
    rf"|not\s+\S+\s+but|used to|meanwhile|stop(?:ped)?|extended|increased)\b"
)  # how a person announces that something is different from what it was
REPLACED = ignore_case(
    r"\b(?:instead of|rather than|no longer (?:use|on|in|at)?|stop(?:ped)? using|not"
    r"|(?<!took )(?<!take )(?<!taken )over|replac(?:es|ed|ing)|away from|drop(?:s|ped|ping)?|off)\s+(?P<what>(?:the "
    r"|a |an )?[\w./+#-]*[\w+#])"
)
NEVER = ignore_case(r"\b(?:never|(?:not|no|n't)\b.{0,20}\bever|any)\b")  # denies for all times
SAME_SUBJECT = 0.8  # of what two hold, all but equal (Dice coefficient)
MIN_DENIED = 2  # telling words of a denial that must be affirmed: one shared word is chance
CALENDAR = frozenset(
    content_words(
        "hour hourly day daily week weekly month monthly year yearly minute second morning evening afternoon night am"
        f" pm ms percent times {' '.join(MONTH_NAMES)} {DAYS.replace('|', ' ')}"
    )
)  # words of time and measure say when and how much, not of what
FILE = Path(__file__).with_name("weights.json")
Sort: TypeAlias = Literal["value", "denial"]  # of a difference


class Linear(msgspec.Struct, frozen=True):
    """A logistic regression, shifted so that one half is where a difference counts as a contradiction."""

    bias: float
    of: Mapping[str, float]  # by the figure's name

    def probability(self, features: Mapping[str, float]) -> float:
        """0 to 1."""
        return 1 / (1 + math.exp(-self.bias - sum(weight * features[name] for name, weight in self.of.items())))


class Weights(msgspec.Struct, frozen=True):
    """The weights of each sort of difference."""

    made_of: Mapping[str, str]  # command, data, date
    value: Linear
    denial: Linear

    def score(self, sort: Sort, features: Mapping[str, float]) -> float:
        """How likely a difference is a contradiction, 0 to 1."""
        return (self.value if sort == "value" else self.denial).probability(features)


PACKAGED = msgspec.json.decode(FILE.read_bytes(), type=Weights)


@dataclass(frozen=True, slots=True, order=True)
class Against:
    """How surely one statement goes against another, and why in a few words."""

    score: float  # 0 to 1; from .5 on it is more likely than not
    why: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """One way in which two statements differ, in figures."""

    sort: Sort
    why: str
    features: dict[str, float]


def measure_contradiction(
    later: StatementReading, earlier: StatementReading, rarity: Rarity, weights: Weights = PACKAGED
) -> Against:
    """How surely the later statement goes against the earlier one."""
    if not later.context & earlier.words:
        return Against(0.0)
    found = [*_replacements(later, earlier, rarity), *_holders(later, earlier, rarity)]
    for one in differences(later, earlier, rarity):
        found.append(Against(weights.score(one.sort, one.features), one.why))
    return max(found, default=Against(0.0))


def differences(later: StatementReading, earlier: StatementReading, rarity: Rarity) -> Iterator[Difference]:
    """Every pair of values, and every denial, that could go against the earlier statement."""
    for ours, theirs in product(later.clauses, earlier.clauses):
        for new, old in product(ours.values, theirs.values):
            if new.value not in earlier.values and old.value not in later.values and may_differ(ours, new, theirs, old):
                features = _value_features(ours, new, theirs, old, rarity)
                features["announced"] = float(bool(CHANGE.search(later.text)))
                sort = "number" if new.kind is ValueKind.QUANTITY else new.kind
                why = f"the {sort} differs: {ours.cut_value(new)} / {theirs.cut_value(old)}"
                yield Difference("value", why, features)
    for denying, other in ((later, earlier), (earlier, later)):
        for clause, affirming in product(denying.clauses, other.clauses):
            if clause.denies and not affirming.denies:
                features = _denial_features(clause, affirming, other, rarity)
                yield Difference("denial", "one denies what the other says", features)


def weigh(words: Collection[str], rarity: Rarity) -> float:
    """How much some words tell together."""
    return sum(rarity.measure(word) for word in words)


def measure_share(part: Collection[str], whole: Collection[str], rarity: Rarity) -> float:
    """How much of the telling of `whole` lies in `part`, 0 to 1."""
    total = weigh(whole, rarity)
    return min(1.0, weigh(part, rarity) / total) if total else 0.0


# -- another value in the same slot ---------------------------------------------------------------------------------


def may_differ(ours: ClauseReading, new: Value, theirs: ClauseReading, old: Value) -> bool:
    """Whether two values could fill one slot: of one kind, not the same amount, and of no other period or thing."""
    if new.kind is not old.kind or (share_a_scale(new, old) and are_equal(new, old)):
        return False
    return not speaks_of_another(ours, new, theirs, old)


def _value_features(
    ours: ClauseReading, new: Value, theirs: ClauseReading, old: Value, rarity: Rarity
) -> dict[str, float]:
    """How likely two values fill one slot, by words, units and size. All but `ratio` are 0 to 1."""
    lighter = min(ours.words, theirs.words, key=lambda words: weigh(words, rarity))
    units = (_find_unit(new), _find_unit(old))
    is_same_unit = all(units) and (units[0] == units[1] or share_a_scale(new, old))
    return {
        "noun": float(bool(_noun(new) & _noun(old))),
        "clause": measure_share(ours.words & theirs.words, lighter, rarity),
        "same unit": float(is_same_unit),
        "other unit": float(all(units) and not is_same_unit),
        "name": float(new.kind is ValueKind.NAME),
        "ratio": _ratio(new, old),
    }


def _find_unit(value: Value) -> str:
    """What a value counts; an address, a path, a version or a time is its own unit."""
    return value.unit or ("" if value.kind in (ValueKind.QUANTITY, ValueKind.NAME, ValueKind.DATE) else value.kind)


def _ratio(new: Value, old: Value) -> float:
    """How far two quantities are apart, as a logarithm, 1 at twentyfold: what changes seldom changes that much."""
    if new.kind is not ValueKind.QUANTITY or share_a_scale(new, old):
        return 0.0
    return min(1.0, abs(math.log((float(new.value) + 0.5) / (float(old.value) + 0.5))) / 3)


def speaks_of_another(ours: ClauseReading, new: Value, theirs: ClauseReading, old: Value) -> bool:
    """Whether two values of one kind hold of different periods or things, or are dates of another sort."""
    if name_different_things(ours, new, theirs, old):
        return True
    if new.kind is ValueKind.QUANTITY:
        return are_apart(ours.scope, theirs.scope)
    if new.kind is ValueKind.NAME:  # a month beside an amount says when; alone it is the value itself
        return _counts(ours) and _counts(theirs) and are_apart(ours.scope, theirs.scope)
    if new.kind is ValueKind.DATE:
        roles = {role_of_date(ours.text, new.first), role_of_date(theirs.text, old.first)}
        return roles == {"deadline", "day"}
    return False


def name_different_things(ours: ClauseReading, new: Value, theirs: ClauseReading, old: Value) -> bool:
    """Whether two clauses name things of one kind by different numbers beside the values: `kitchen 1`, `kitchen 2`."""
    mine = {noun: (number, first) for noun, number, first in ours.labels}
    other = {noun: (number, first) for noun, number, first in theirs.labels}
    for noun in mine.keys() & other.keys():
        (number, first), (its_number, its_first) = mine[noun], other[noun]
        are_values = first == new.first and its_first == old.first and not (len(ours.values) > 1 < len(theirs.values))
        if number != its_number and not are_values:
            return True
    return False


def _counts(clause: ClauseReading) -> bool:
    return any(value.kind is ValueKind.QUANTITY for value in clause.values)


def _noun(value: Value) -> frozenset[str]:
    """The words among which a value's own noun is."""
    return (value.close | ({value.unit} if value.unit not in MEASURES else frozenset())) - CALENDAR - {""}


# -- a denial -------------------------------------------------------------------------------------------------------


def _denial_features(
    denying: ClauseReading, affirming: ClauseReading, other: StatementReading, rarity: Rarity
) -> dict[str, float]:
    """How likely a clause denies what another affirms. All are 0 to 1."""
    shares = (_measure_denied_share(things, affirming.words, rarity) for things in denying.denied)
    return {
        "denied": max(shares, default=0.0),
        "statement": measure_share(denying.words & other.words, denying.words, rarity),
        "never": float(bool(NEVER.search(denying.text))),
    }


def _measure_denied_share(denied: frozenset[str], affirmed: frozenset[str], rarity: Rarity) -> float:
    """How much of one thing that is denied stands in what is affirmed."""
    both = denied & affirmed
    return measure_share(both, denied, rarity) if len(both) >= MIN_DENIED or denied == affirmed else 0.0


# -- a replacement --------------------------------------------------------------------------------------------------


def _replacements(later: StatementReading, earlier: StatementReading, rarity: Rarity) -> Iterator[Against]:
    named = [(match["what"], frozenset(content_words(match["what"]))) for match in REPLACED.finditer(later.text)]
    for name, gone in (*named, *later.former):
        if gone <= earlier.words and not earlier.denies and not all(word.isdigit() for word in gone):
            rest, others = later.words - gone, earlier.words - gone
            alike = measure_share(rest & others, min(rest, others, key=len), rarity)
            yield Against(0.5 + 0.5 * alike, f"it does away with {name}")


# -- another holder -------------------------------------------------------------------------------------------------


def _holders(later: StatementReading, earlier: StatementReading, rarity: Rarity) -> Iterator[Against]:
    for ours, theirs in product(later.holders, earlier.holders):
        both, every = ours.what & theirs.what, weigh(ours.what, rarity) + weigh(theirs.what, rarity)
        same = 2 * weigh(both, rarity) / every
        if same >= SAME_SUBJECT and not ours.who & theirs.who:
            yield Against(same, f"{ours.name} where it says {theirs.name}")
