"""The extractor that needs no model: a session's statements, by what its sentences do and how they are marked."""

import itertools
from collections.abc import Iterator

from crawler.transcripts.turns import Role, Turn
from dream.evidence import SessionTurns, quote_of
from dream.extract.signals import FAIR, LIKELY, Signal, signal_of
from dream.records import Candidate
from dream.statements.acts import Clause, clauses_in
from dream.statements.halves import halves_of
from dream.statements.marks import REJECTS
from dream.statements.wording import statement_of
from memory_server.language.cues import folded, is_agreement

NAME = "deterministic"
MAX_SENTENCES = 3  # of the last paragraph
OF_ITSELF = folded(
    r"^\W*(?:i\b|i'(?:ll|m|ve|d)\b|let me|let's|now\b|next\b|ready\b|done\b|want me|shall i|good\b|you're right)"
)


def find_candidates(session: SessionTurns) -> list[Candidate]:
    """Everything a session says that a topic might take up, in the order of the session."""
    return [*_said_by_person(session), *_agreed(session)]


def _said_by_person(session: SessionTurns) -> Iterator[Candidate]:
    for turn in session.spoken:
        if not turn.is_prompt:
            continue
        before: Clause | None = None
        for clause in clauses_in(turn.text):
            for part in halves_of(clause):
                signal = signal_of(part, before)
                if not (before and before.sentence == part.sentence and REJECTS.match(before.text)):
                    before = part  # `that is wrong` holds for what its own sentence says, and for the next one
                if signal:
                    yield _candidate(session, turn, part, signal)


def _agreed(session: SessionTurns) -> Iterator[Candidate]:
    """Statements of the assistant that the person agreed to in so many words.

    A yes answers what stood last, so only the last paragraph counts, and only where it holds few sentences: nobody
    agrees to ten things with one word. A yes to a question is a task given, not a statement confirmed.
    """
    for turn, answer in itertools.pairwise(session.spoken):
        if turn.role is not Role.ASSISTANT or answer.role is not Role.PERSON or not is_agreement(answer.text):
            continue
        for clause in _last_clauses(turn.text):
            signal = signal_of(clause)
            if signal and signal.confidence >= LIKELY and not OF_ITSELF.match(clause.text):
                taken = Signal(signal.kind, FAIR, f"{signal.why}, said by the assistant and agreed to")
                yield _candidate(session, turn, clause, taken, answer)


def _last_clauses(text: str) -> list[Clause]:
    clauses = clauses_in(text)
    start = text.rstrip().rfind("\n\n")
    last = [clause for clause in clauses if clause.first > start]
    asks = text.rstrip().rstrip("*_`)").endswith(("?", "？"))
    return [] if asks or len({clause.sentence for clause in last}) > MAX_SENTENCES else last


def _candidate(
    session: SessionTurns, turn: Turn, clause: Clause, signal: Signal, answer: Turn | None = None
) -> Candidate:
    quotes = [quote_of(session, turn, clause.first, clause.end)]
    if answer:
        quotes.append(quote_of(session, answer, 0, len(answer.text)))
    return Candidate(
        statement_of(clause.text, turn.time),
        signal.kind,
        tuple(quotes),
        signal.confidence,
        signal.why,
        NAME,
        project=session.project,
        context=turn.text[slice(*clause.sentence)],
    )
