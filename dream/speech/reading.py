"""A statement read once: its clauses, each with its values, its telling words and whether it denies.

Comparing one statement with all those of the topics asks for the same things again and again; reading is the dear part.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dream.speech.acts import RELATIVE, Act, act_of
from dream.speech.scope import Scope, scope_of
from dream.speech.sentences import Span, clause_spans
from dream.speech.values import Value, ValueKind, values_in
from dream.speech.words import content_words

ALTERNATIVES = re.compile(
    r",?\s+(?:or|nor|and)\s+(?:any\s+)?|,\s+|\s+(?:because|since|so that|due to)\s+", re.IGNORECASE
)
LIST = 3  # numbers of one unit in a clause that make it a list
PRONOUN = re.compile(r"\b(?:it|its|it's|this|that|that's|they|them|one)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ClauseReading:
    """One clause of a statement."""

    text: str
    values: tuple[Value, ...]  # those that hold: what the clause calls former is left out
    words: frozenset[str]
    act: Act
    denied: tuple[frozenset[str], ...]  # of a denial: the words of each thing that is denied, and of all together
    leans: bool  # on its sentence, by a pronoun
    scope: Scope  # the periods, rates and numbered things that it limits itself to

    @property
    def denies(self) -> bool:
        return self.act is Act.DENIES

    def said(self, value: Value) -> str:
        """A value as the clause writes it."""
        return self.text[value.first : value.end].strip()


@dataclass(frozen=True, slots=True)
class Reading:
    """A statement with its clauses. `context` are the telling words of the sentence that it stands in."""

    text: str
    clauses: tuple[ClauseReading, ...]
    words: frozenset[str]
    values: frozenset[str]  # every value that it holds to be true
    context: frozenset[str]

    @property
    def denies(self) -> bool:
        return any(clause.denies for clause in self.clauses)


def read_statement(text: str, context: str = "") -> Reading:
    """Reads a statement that stands in the sentence `context`."""
    clauses = tuple(_clause(text[first:end]) for first, end in _whole_clauses(text))
    words = frozenset(content_words(text))
    values = frozenset(value.value for clause in clauses for value in clause.values)
    return Reading(text, clauses, words, values, words | frozenset(content_words(context)))


def _whole_clauses(text: str) -> list[Span]:
    """The clauses of a text; one that begins with `which` belongs to the one it explains."""
    spans: list[Span] = []
    for first, end in clause_spans(text, 0, len(text)):
        if spans and RELATIVE.match(text, first, end):
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((first, end))
    return spans


def _clause(text: str) -> ClauseReading:
    act = act_of(text)
    words = frozenset(content_words(text))
    denied = (*_things(ALTERNATIVES.split(text)), words) if act is Act.DENIES else ()
    return ClauseReading(text, tuple(_slots(text)), words, act, denied, bool(PRONOUN.search(text)), scope_of(text))


def _slots(text: str) -> Iterator[Value]:
    """The values of a clause that fill a slot: not what it calls former, nor a list of numbers such as three sides."""
    values = [value for value in values_in(text) if not value.is_former]
    alike = Counter((value.kind, value.unit) for value in values if value.kind is ValueKind.QUANTITY)
    bare = sum(count for (_, unit), count in alike.items() if not unit)
    for value in values:
        listed = value.kind is ValueKind.QUANTITY and alike[value.kind, value.unit] + bare * bool(value.unit) >= LIST
        if not listed:
            yield value


def _things(parts: Iterable[str]) -> list[frozenset[str]]:
    return [words for part in parts if (words := frozenset(content_words(part)))]
