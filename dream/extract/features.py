"""What the scorer looks at: a clause, where it stands, what was said before it, and what came of it.

Every feature is a plain number that needs no model. Most tell whether the clause bears a mark of `marks.tsv`, where
each stands with a clause that bears it and one that does not. A mark decides nothing: the scorer weighs all of them
together, and `why` names those that speak for a clause. A few are so plain that they overrule it: see `is_explicit`.
"""

import csv
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from re import Pattern

from crawler.outcome import REJECTS, is_committed, is_written
from crawler.quotes import SessionTurns
from crawler.spoken import Spoken, spoken_in
from crawler.transcripts.entry import PartKind
from crawler.transcripts.turns import Role, Turn
from dream.records import Kind
from dream.statements.acts import SILENT, Act, Clause, clauses_of, is_asked
from dream.statements.halves import halves_of
from dream.statements.values import values_in
from memory_server.language.cues import folded
from memory_server.language.words import content_words

TABLE = Path(__file__).with_name("marks.tsv")
START = r"^\W*(?:(?:and|but|so|also|ok(?:ay)?|yes|yeah|no|well|please|pls|just|then|now|actually|maybe)\b[\s,.!:-]*)*"
EXPLICIT = frozenset({"remember", "always", "for good", "decided", "prefers to", "stop", "holds it"})
WITH_VALUE = frozenset({"names its value", "corrects"})  # explicit where an exact value stands in the clause
MOMENTARY = frozenset({"hour", "trouble", "thinks", "leans"})  # what takes the plainness away
SEEN = 600  # characters of the reply before, counted from its end


@dataclass(frozen=True, slots=True)
class Mark:
    """One mark. `words` tell it to a reviewer; empty where it speaks of the moment. `kind`: what it makes a clause."""

    id: str
    pattern: Pattern[str]
    example: str
    counter: str
    words: str
    kind: Kind | None


def _read_marks() -> tuple[Mark, ...]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return tuple(
        Mark(
            row["id"],
            folded(row["pattern"].replace("{START}", START)),  # the words that only open a clause
            row["example"],
            row["counter"],
            row["words"],
            Kind(row["kind"]) if row["kind"] else None,
        )
        for row in rows
    )


MARKS = _read_marks()

LOOKS = (
    "chosen answer_words refused words values code mention capital position last clauses turn_chars listed asked_beside"
    " first_turn after_question shared_with_reply wrote committed taken_back"
).split()
NAMES = (*(mark.id for mark in MARKS), *LOOKS)  # in the order of the weights
ALONE = frozenset((*(mark.id for mark in MARKS), *LOOKS[:8]))  # those that the words alone decide


@dataclass(frozen=True, slots=True)
class Situation:
    """A clause with what surrounds it."""

    turn: Turn
    clause: Clause
    place: int = 0  # among the clauses of its turn
    clauses: int = 1  # how many there are
    ahead: str = ""  # the clause ahead of it in its turn
    before: str = ""  # the end of what the assistant said last
    spoken: Spoken | None = None  # the stretch that holds it
    asked_beside: bool = False  # whether the turn asks something too
    is_first: bool = False  # whether it is the first thing that the person said
    deeds: Sequence[Turn] = ()  # what happened before the person spoke again
    later: str = ""  # what they said then
    answer: Turn | None = None  # the person's yes or pick, where the assistant said the clause
    is_picked: bool = False  # whether it is an option that the person picked


def situations_in(session: SessionTurns) -> Iterator[Situation]:
    """Everything that the person says for themselves in a session, clause by clause, in its order."""
    turns = session.turns
    places = [place for place, turn in enumerate(turns) if turn.role is Role.PERSON and spoken_in(turn)]
    before, seen = "", 0
    for place, end in pairwise([*places, len(turns)]):
        turn = turns[place]
        before = next((other.text[-SEEN:] for other in reversed(turns[seen:place]) if is_reply(other)), before)
        seen = place + 1
        whole = clauses_of(turn)
        parts = [part for clause in whole for part in halves_of(clause)]
        for index, part in enumerate(parts):
            if part.act not in SILENT:
                yield Situation(
                    turn,
                    part,
                    index,
                    len(parts),
                    parts[index - 1].text if index else "",
                    before,
                    next((spoken for spoken in spoken_in(turn) if spoken.first <= part.first < spoken.end), None),
                    any(clause.act is Act.ASKS for clause in whole),
                    place == places[0],
                    [deed for deed in turns[place + 1 : end] if deed.role is Role.TOOL],
                    turns[end].text if end < len(turns) else "",
                )


def is_reply(turn: Turn) -> bool:
    return turn.role is Role.ASSISTANT and turn.kind is PartKind.TEXT


def features_of(at: Situation) -> list[float]:
    """The features of a clause in the order of `NAMES`."""
    return [*(float(bool(mark.pattern.search(at.clause.text))) for mark in MARKS), *map(float, _looks(at))]


def _looks(at: Situation) -> Iterator[float]:
    clause, text, turn = at.clause, at.clause.text, at.turn
    words, telling = text.split(), set(content_words(text))
    question = at.spoken.question if at.spoken else ""
    yield clause.act is Act.CHOOSES or at.is_picked
    yield len(text.rpartition('"="')[2].split()) if question else 0
    yield turn.kind is PartKind.RESULT and not question
    yield math.log(1 + len(words))
    yield math.sqrt(len(values_in(text)))
    yield "`" in text or "_" in text
    yield "@" in text
    yield text[:1].isupper()
    yield at.place / max(1, at.clauses - 1)
    yield at.place == at.clauses - 1
    yield math.log(at.clauses)
    yield math.log(1 + len(turn.text))
    yield "\n-" in turn.text or "\n1" in turn.text
    yield at.asked_beside
    yield at.is_first
    yield is_asked(at.before) or bool(question)
    yield len(telling & set(content_words(at.before))) / (1 + len(telling))
    yield any(map(is_written, at.deeds))
    yield any(map(is_committed, at.deeds))
    yield bool(REJECTS.match(at.later))


def marks_of(text: str) -> frozenset[str]:
    """The marks that a clause bears, by their ids."""
    return frozenset(mark.id for mark in MARKS if mark.pattern.search(text))


def is_explicit(marks: frozenset[str], *, is_exact: bool) -> bool:
    """Whether a clause with these marks is meant for good by its words alone. `is_exact`: it gives an exact value."""
    return bool(marks & EXPLICIT or (is_exact and marks & WITH_VALUE)) and not marks & MOMENTARY
