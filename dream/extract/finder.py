"""The extractor that needs no model: a session's statements, by what its sentences do and how they are marked."""

from collections.abc import Iterator

from crawler.transcripts.turns import Turn
from dream.evidence import SessionTurns, quote_of
from dream.extract.agreed import agreed_statements
from dream.extract.halves import halves_of
from dream.extract.signals import FAIR, Signal, signal_of
from dream.records import Candidate
from dream.statements.acts import Clause, clauses_in
from dream.statements.marks import REJECTS
from dream.statements.wording import statement_of

NAME = "deterministic"


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
    for said, clause, signal, answer in agreed_statements(session):
        taken = Signal(signal.kind, FAIR, f"{signal.why}, said by the assistant and agreed to")
        yield _candidate(session, said, clause, taken, answer)


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
