"""What the scorer looks at: a clause, where it stands, what was said before it, and what came of it.

Every feature is a plain number that needs no model.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from crawler.outcome import REJECTS, is_committed, is_reply, is_written
from crawler.transcripts.entry import PartKind
from crawler.transcripts.turns import Role, Turn
from dream.evidence import SessionTurns
from dream.extract.marks import MARKS
from dream.spoken import Spoken, spoken_in
from dream.statements.acts import SILENT, Act, Clause, clauses_of, is_asked
from dream.statements.halves import halves_of
from dream.statements.values import values_in
from memory_server.language.words import content_words

SEEN = 600  # characters of the reply before, counted from its end
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
                    turns[place + 1 : end],
                    turns[end].text if end < len(turns) else "",
                )


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
