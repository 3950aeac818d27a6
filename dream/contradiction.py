"""Whether one statement puts something else in the place of another, and how surely.

Three ways are known. A value: the same slot of the same subject, filled differently. A denial: one says that
something is or was, the other that it never did. A replacement: the later names what it does away with (`instead of
npm`), and that stands in the earlier. Each gives 0 to 1 by how much of the subject is shared; the surest counts.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import product

from dream.speech.acts import Act
from dream.speech.reading import ClauseReading, Reading
from dream.speech.scope import are_apart, role_of_date
from dream.speech.values import MEASURES, Value, ValueKind
from dream.speech.words import Rarity, content_words

CHANGE = re.compile(
    r"\b(?:now|no longer|any ?more|from now on|(?:has|have|had|was|were|got|been|just|recently|'ve"
    r"|'s)\s+(?:\w+\s+)?(?:changed|moved|extended|increased|decreased|improved|reduced|reached|raised|lowered|updated"
    r"|switched|replaced|renamed|migrated|grown|grew|dropped|rescheduled|postponed|upgraded|shifted|bumped)|(?:changed"
    r"|moved|extended|increased|improved|reduced|updated|switched|renamed|migrated|upgraded|rescheduled|postponed"
    r"|bumped)\s+(?:it\s+|from\s+|to\s+)|instead(?: of)?|rather than|as of|new|latest|current(?:ly)?|already|so far"
    r"|managed to|down to|up to|actually|correction|moving|changing|switching|rescheduling|postponing|not\s+\S+\s+but"
    r"|used to|meanwhile|stop(?:ped)?|extended|increased)\b",
    re.IGNORECASE,
)  # how a person announces that something is different from what it was
REPLACED = re.compile(
    r"\b(?:instead of|rather than|no longer (?:use|on|in|at)?|stop(?:ped)? using|not|over|replac(?:es|ed|ing)|away from"
    r"|drop(?:s|ped|ping)?|off)\s+(?P<what>(?:the |a |an )?[\w./+#-]+)",
    re.IGNORECASE,
)
FAR_WEIGHT = 0.5  # of a word beside the clause of a value, against 1 for one in it
MIN_DENIED = 2  # telling words of a denial that must be affirmed: one shared word is chance
UNANNOUNCED = 0.65  # factor where nobody speaks of a change: another number of a related matter is most often that
CHANGE_BONUS = 0.2  # where the later statement says itself that something changed
SMALL = 3  # telling words that a subject must have before it may be contained in another and count in full
SAME_SUBJECT = 0.8  # of two subjects, however small, that are all but equal (Dice coefficient)
CALENDAR = frozenset(
    content_words(
        "hour hourly day daily week weekly month monthly year yearly minute second morning evening afternoon night"
        " percent"
        " january february march april may june july august september october november december monday tuesday"
        " wednesday"
        " thursday friday saturday sunday am pm ms times"
    )
)  # words of time and measure say when and how much, not of what
DOUBT = 1.0  # telling words added to the smaller context, so that one shared word of one is not certainty


@dataclass(frozen=True, slots=True, order=True)
class Against:
    """How surely one statement goes against another, and why in a few words."""

    score: float  # 0 to 1
    why: str = ""


def contradiction_of(later: Reading, earlier: Reading, rarity: Rarity) -> Against:
    """How surely the later statement goes against the earlier one."""
    if not later.context & earlier.words:
        return Against(0.0)
    found = [Against(0.0), *_values(later, earlier, rarity)]
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


# -- another value in the same slot ---------------------------------------------------------------------------------


def _values(later: Reading, earlier: Reading, rarity: Rarity) -> Iterator[Against]:
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
                why = f"{ours.said(new)} where it says {theirs.said(old)}"
                yield Against(min(1.0, score + announced), why)


def is_same_slot(new: Value, old: Value) -> bool:
    """Whether two values could fill the same slot, by kind and unit alone."""
    if new.kind is not old.kind:
        return False
    if new.kind is ValueKind.QUANTITY:
        return new.unit == old.unit or new.unit in old.near or old.unit in new.near
    return True


def speaks_of_another(ours: ClauseReading, new: Value, theirs: ClauseReading, old: Value) -> bool:
    """Whether two values of one kind hold of different periods or things, or are dates of another sort."""
    if new.kind is ValueKind.QUANTITY:
        return are_apart(ours.scope, theirs.scope)
    if new.kind is ValueKind.NAME:  # a month beside an amount says when; alone it is the value itself
        return _counts(ours) and _counts(theirs) and are_apart(ours.scope, theirs.scope)
    if new.kind is ValueKind.DATE:
        roles = {role_of_date(ours.text, new.first), role_of_date(theirs.text, old.first)}
        return roles == {"deadline", "day"}
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
    weights = sorted((weigh(ours, rarity), weigh(theirs, rarity)))
    shared = ours & theirs
    near, word = weigh(shared, rarity), rarity.of("")
    beyond = FAR_WEIGHT * weigh(set(far) - shared - CALENDAR, rarity)
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


def _denials(later: Reading, earlier: Reading, rarity: Rarity) -> Iterator[Against]:
    for denying, other in ((later, earlier), (earlier, later)):
        affirmed = [clause.words for clause in other.clauses if not clause.denies]
        said = frozenset().union(*affirmed)
        for clause in denying.clauses:
            scores = [_denial_score(things, said, rarity) for things in clause.denied]
            yield Against(max(scores, default=0.0), "one denies what the other says")


def _denial_score(denied: frozenset[str], affirmed: frozenset[str], rarity: Rarity) -> float:
    """How much of one thing that is denied stands in what is affirmed."""
    both = denied & affirmed
    return share_of(both, denied, rarity) if len(both) >= MIN_DENIED or denied == affirmed else 0.0


# -- a replacement --------------------------------------------------------------------------------------------------


def _replacements(later: Reading, earlier: Reading, rarity: Rarity) -> Iterator[Against]:
    for match in REPLACED.finditer(later.text):
        gone = frozenset(content_words(match["what"]))
        if gone and gone <= earlier.words and not earlier.denies:
            rest, others = later.words - gone, earlier.words - gone
            alike = share_of(rest & others, min(rest, others, key=len), rarity)
            yield Against(0.5 + 0.5 * alike, f"it does away with {match['what']}")
