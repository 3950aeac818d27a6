"""Statements of the assistant that the person agreed to in so many words.

A yes answers what stood last, so only the last paragraph counts, and only where it holds few sentences: nobody agrees
to ten things with one word. A yes to a question is a task given, not a statement confirmed.
"""

import itertools
import re
from collections.abc import Iterator

from crawler.agreement import is_agreement
from crawler.transcripts.turns import Role, Turn
from dream.evidence import SessionTurns
from dream.extract.signals import LIKELY, Signal, signal_of
from dream.statements.acts import Clause, clauses_in

MAX_SENTENCES = 3  # of the last paragraph
OF_ITSELF = re.compile(
    r"^\W*(?:i\b|i'(?:ll|m|ve|d)\b|let me|let's|now\b|next\b|ready\b|done\b|want me|shall i|good\b|you're right)",
    re.IGNORECASE,
)


def agreed_statements(session: SessionTurns) -> Iterator[tuple[Turn, Clause, Signal, Turn]]:
    """The assistant's turn, the clause of it, what makes it worth taking, and the person's turn that agrees."""
    spoken = session.spoken
    for said, answer in itertools.pairwise(spoken):
        if said.role is not Role.ASSISTANT or answer.role is not Role.PERSON or not is_agreement(answer.text):
            continue
        for clause in _last_clauses(said.text):
            signal = signal_of(clause)
            if signal and signal.confidence >= LIKELY and not OF_ITSELF.match(clause.text):
                yield said, clause, signal, answer


def _last_clauses(text: str) -> list[Clause]:
    clauses = clauses_in(text)
    start = text.rstrip().rfind("\n\n")
    last = [clause for clause in clauses if clause.first > start]
    asks = text.rstrip().rstrip("*_`)").endswith(("?", "？"))
    return [] if asks or len({clause.sentence for clause in last}) > MAX_SENTENCES else last
