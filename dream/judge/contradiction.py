"""Whether one statement puts something else in the place of another, and how surely.

Four ways are known. A value: the same slot of the same subject, filled differently. A denial: one says that something
is or was, the other that it never did. A replacement: the later names what it does away with (`instead of npm`, `from
npm to pnpm`), and that stands in the earlier. A holder: somebody else owns or leads the same. Each gives 0 to 1 by how
much of the subject is shared; the surest counts.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import product

from dream.statements.acts import Act
from dream.statements.reading import ClauseReading, StatementReading, are_apart, role_of_date
from dream.statements.values import DAYS, MEASURES, MONTH_NAMES, Value, ValueKind, are_equal, share_a_scale
from memory_server.language.cues import folded
from memory_server.language.words import Rarity, content_words

MOVED = (
    "changed|moved|extended|increased|improved|reduced|updated|switched|renamed|migrated|upgraded|rescheduled|postponed"
    "|bumped|raised|lowered"
)
CHANGE = folded(
    rf"\b(?:now|no longer|any ?more|from now on|(?:has|have|had|was|were|got|been|just|recently|i|we|'ve"
    rf"|'s)\s+(?:\w+\s+)?(?:{MOVED}|decreased|reached|replaced|grown|grew|dropped|shifted)|(?:{MOVED})\s+(?:it\s+"
    rf"|from\s+|(?:[\w'-]+\s+){{0,5}}?to\s+)|instead(?: of)?|rather than|as of|new|latest|current(?:ly)?|already"
    rf"|so far|managed to|down to|up to|actually|correction|moving|changing|switching|rescheduling|postponing"
    rf"|not\s+\S+\s+but|used to|meanwhile|stop(?:ped)?|extended|increased)\b"
)  # how a person announces that something is different from what it was
REPLACED = folded(
    r"\b(?:instead of|rather than|no longer (?:use|on|in|at)?|stop(?:ped)? using|not"
    r"|(?<!took )(?<!take )(?<!taken )over|replac(?:es|ed|ing)|away from|drop(?:s|ped|ping)?|off)\s+(?P<what>(?:the "
    r"|a |an )?[\w./+#-]*[\w+#])"
)
FAR_WEIGHT = 0.5  # of a word beside the clause of a value, against 1 for one in it
MIN_DENIED = 2  # telling words of a denial that must be affirmed: one shared word is chance
UNANNOUNCED = 0.65  # factor where nobody speaks of a change: another number of a related matter is most often that
CHANGE_BONUS = 0.2  # where the later statement says itself that something changed
SMALL = 3  # telling words that a subject must have before it may be contained in another and count in full
SAME_SUBJECT = 0.8  # of two subjects, however small, that are all but equal (Dice coefficient)
CALENDAR = frozenset(
    content_words(
        "hour hourly day daily week weekly month monthly year yearly minute second morning evening afternoon night am"
        f" pm ms percent times {' '.join(MONTH_NAMES)} {DAYS.replace('|', ' ')}"
    )
)  # words of time and measure say when and how much, not of what
DOUBT = 1.0  # telling words added to the smaller context, so that one shared word of one is not certainty


@dataclass(frozen=True, slots=True, order=True)
class Against:
    """How surely one statement goes against another, and why in a few words."""

    score: float  # 0 to 1
    why: str = ""


def contradiction_of(later: StatementReading, earlier: StatementReading, rarity: Rarity) -> Against:
    """How surely the later statement goes against the earlier one."""
    if not later.context & earlier.words:
        return Against(0.0)
    ways = (_values, _denials, _replacements, _holders)
    return max((against for way in ways for against in way(later, earlier, rarity)), default=Against(0.0))


def weigh(words: Collection[str], rarity: Rarity) -> float:
    """How much some words tell together."""
    return sum(rarity.of(word) for word in words)


def share_of(part: Collection[str], whole: Collection[str], rarity: Rarity) -> float:
    """How much of the telling of `whole` lies in `part`, 0 to 1."""
    total = weigh(whole, rarity)
    return min(1.0, weigh(part, rarity) / total) if total else 0.0


# -- another value in the same slot ---------------------------------------------------------------------------------


def _values(later: StatementReading, earlier: StatementReading, rarity: Rarity) -> Iterator[Against]:
    far = later.context & earlier.words
    announced = CHANGE_BONUS if CHANGE.search(later.text) else 0.0
    stating = [clause for clause in later.clauses if clause.act is not Act.INTENDS or CHANGE.search(clause.text)]
    for ours, theirs in product(stating, earlier.clauses):
        for new, old in product(ours.values, theirs.values):
            if not is_same_slot(new, old) or new.value in earlier.values or old.value in later.values:
                continue
            if speaks_of_another(ours, new, theirs, old):
                continue
            score = _slot_score(new, old, far, rarity, leans=ours.leans)
            if not announced and score < SAME_SUBJECT:
                score *= UNANNOUNCED
            if score:
                why = f"{ours.written(new)} where it says {theirs.written(old)}"
                yield Against(min(1.0, score + announced), why)


def is_same_slot(new: Value, old: Value) -> bool:
    """Whether two values could fill the same slot, by kind and unit alone."""
    if new.kind is not old.kind:
        return False
    if new.kind is ValueKind.QUANTITY and share_a_scale(new, old):
        return not are_equal(new, old)
    if new.kind is ValueKind.QUANTITY:
        return new.unit == old.unit or new.unit in old.near or old.unit in new.near
    return True


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


def _slot_score(new: Value, old: Value, far: Collection[str], rarity: Rarity, *, leans: bool) -> float:
    """How much the words around two values are the same, 0 to 1.

    `far` are the words that the sentences around share; they support what the clauses share, and no more than that,
    unless the new clause leans on its sentence by a pronoun.
    """
    ours, theirs = _subject(new), _subject(old)
    if not leans and not _noun(new) & _noun(old):
        return 0.0
    # in sums of rarity: both subjects, the lighter first; what they share; what the sentences around add
    weights = sorted((weigh(ours, rarity), weigh(theirs, rarity)))
    shared = ours & theirs
    near, word = weigh(shared, rarity), rarity.of("")
    beyond = FAR_WEIGHT * weigh(set(far) - shared - CALENDAR, rarity)
    # 0 to 1: how much of the lighter subject lies in the other, and how nearly they are one (Dice)
    contained = (near + (beyond if leans else min(near, beyond))) / (max(weights[0], SMALL * word) + DOUBT * word)
    same = 2 * near / sum(weights) if near else 0.0
    if new.kind is ValueKind.NAME:
        return same if same >= SAME_SUBJECT else 0.0  # names differ everywhere, so the rest must be all but equal
    return min(1.0, max(contained, same if same >= SAME_SUBJECT else 0.0))


def _noun(value: Value) -> frozenset[str]:
    """The words among which a value's own noun is."""
    return (value.close | ({value.unit} if value.unit not in MEASURES else frozenset())) - CALENDAR - {""}


def _subject(value: Value) -> frozenset[str]:
    """What a value is of: the words of its clause, and what it counts where that is a thing."""
    counted = {value.unit} if value.unit and value.unit not in MEASURES else set()
    return frozenset((value.near | counted) - CALENDAR)


# -- a denial -------------------------------------------------------------------------------------------------------


def _denials(later: StatementReading, earlier: StatementReading, rarity: Rarity) -> Iterator[Against]:
    for denying, other in ((later, earlier), (earlier, later)):
        affirmed = [clause.words for clause in other.clauses if not clause.denies]
        affirms = frozenset().union(*affirmed)
        for clause in denying.clauses:
            scores = [_denial_score(things, affirms, rarity) for things in clause.denied]
            yield Against(max(scores, default=0.0), "one denies what the other says")


def _denial_score(denied: frozenset[str], affirmed: frozenset[str], rarity: Rarity) -> float:
    """How much of one thing that is denied stands in what is affirmed."""
    both = denied & affirmed
    return share_of(both, denied, rarity) if len(both) >= MIN_DENIED or denied == affirmed else 0.0


# -- a replacement --------------------------------------------------------------------------------------------------


def _replacements(later: StatementReading, earlier: StatementReading, rarity: Rarity) -> Iterator[Against]:
    named = [(match["what"], frozenset(content_words(match["what"]))) for match in REPLACED.finditer(later.text)]
    for name, gone in (*named, *later.former):
        if gone and gone <= earlier.words and not earlier.denies:
            rest, others = later.words - gone, earlier.words - gone
            alike = share_of(rest & others, min(rest, others, key=len), rarity)
            yield Against(0.5 + 0.5 * alike, f"it does away with {name}")


# -- another holder -------------------------------------------------------------------------------------------------


def _holders(later: StatementReading, earlier: StatementReading, rarity: Rarity) -> Iterator[Against]:
    for ours, theirs in product(later.holders, earlier.holders):
        both, every = ours.what & theirs.what, weigh(ours.what, rarity) + weigh(theirs.what, rarity)
        same = 2 * weigh(both, rarity) / every
        if same >= SAME_SUBJECT and not ours.who & theirs.who:
            yield Against(same, f"{ours.name} where it says {theirs.name}")
