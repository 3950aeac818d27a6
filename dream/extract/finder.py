"""The extractor that needs no model: a session's statements, by what its sentences do and how they are marked."""

from collections.abc import Iterator

from dream.evidence import SessionTurns, quote_of
from dream.extract.signals import signal_of
from dream.extract.wording import statement_of
from dream.records import Candidate
from dream.speech.acts import Clause, clauses_in

NAME = "deterministic"


def find_candidates(session: SessionTurns) -> list[Candidate]:
    """Everything a session says that a topic might take up, in the order of the session."""
    return list(_said_by_person(session))


def _said_by_person(session: SessionTurns) -> Iterator[Candidate]:
    for turn in session.spoken:
        if not turn.is_prompt:
            continue
        before: Clause | None = None
        for clause in clauses_in(turn.text):
            signal = signal_of(clause, before)
            before = clause
            if signal is None:
                continue
            quote = quote_of(session, turn, clause.first, clause.end)
            text = statement_of(clause.text, turn.time)
            yield Candidate(
                text,
                signal.kind,
                (quote,),
                signal.confidence,
                signal.why,
                NAME,
                project=session.project,
                context=turn.text[slice(*clause.sentence)],
            )
