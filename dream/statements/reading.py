"""A statement read once: its clauses, each with its values, its telling words and whether it denies.

Comparing one statement with all those of the topics asks for the same things again and again; reading is the dear part.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dream.statements.acts import RELATIVE, Act, act_of
from dream.statements.holders import Holder, holders_in
from dream.statements.scope import Scope, scope_of
from dream.statements.sentences import Span, clause_spans
from dream.statements.values import MEASURES, Value, ValueKind, values_in
from dream.statements.words import content_words

ALTERNATIVES = re.compile(
    r",?\s+(?:or|nor|and)\s+(?:any\s+)?|,\s+|\s+(?:because|since|so that|due to)\s+", re.IGNORECASE
)
LIST = 3  # numbers of one unit in a clause that make it a list
MOVES_FROM = re.compile(r"\bfrom\s+(?:the |an? |our )?$", re.IGNORECASE)
LABELLED = re.compile(
    r"(?:^|\b(?:in|on|at|of|for|from|to|with|by)\s+)(?:the |our |my )?([a-z]{3,}) (?:no\. ?|number |#)?$", re.IGNORECASE
)  # what stands before a number that names a thing, as a subject or behind a preposition
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
    labels: frozenset[tuple[str, str, int]]  # a noun, the number right behind it, and where that begins: `kitchen 2`

    @property
    def denies(self) -> bool:
        return self.act is Act.DENIES

    def said(self, value: Value) -> str:
        """A value as the clause writes it."""
        return self.text[value.first : value.end].strip()


@dataclass(frozen=True, slots=True)
class StatementReading:
    """A statement with its clauses. `context` are the telling words of the sentence that it stands in."""

    text: str
    clauses: tuple[ClauseReading, ...]
    words: frozenset[str]
    values: frozenset[str]  # every value that it holds to be true
    former: tuple[tuple[str, frozenset[str]], ...]  # each thing that it says was so before, as written and in words
    holders: tuple[Holder, ...]
    context: frozenset[str]

    @property
    def denies(self) -> bool:
        return any(clause.denies for clause in self.clauses)


def read_statement(text: str, context: str = "") -> StatementReading:
    """Reads a statement that stands in the sentence `context`."""
    clauses = tuple(_clause(text[first:end]) for first, end in _whole_clauses(text))
    words = frozenset(content_words(text))
    values = frozenset(value.value for clause in clauses for value in clause.values)
    former = tuple(_moved_from(text))
    holders = tuple(holders_in(text))
    return StatementReading(text, clauses, words, values, former, holders, words | frozenset(content_words(context)))


def _moved_from(text: str) -> Iterator[tuple[str, frozenset[str]]]:
    """The names that a text says something moved away from: `from Jenkins to Buildkite`."""
    for value in values_in(text):
        if value.is_former and value.kind is ValueKind.NAME and MOVES_FROM.search(text[: value.first]):
            written = text[value.first : value.end]
            yield written, frozenset(content_words(written))


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
    values = tuple(_slots(text))
    leans = bool(PRONOUN.search(text))
    return ClauseReading(text, values, words, act, denied, leans, scope_of(text), frozenset(_labels(text, values)))


def _slots(text: str) -> Iterator[Value]:
    """The values of a clause that fill a slot: not what it calls former, nor a list of numbers such as three sides."""
    values = [value for value in values_in(text) if not value.is_former]
    alike = Counter((value.kind, value.unit) for value in values if value.kind is ValueKind.QUANTITY)
    bare = sum(count for (_, unit), count in alike.items() if not unit)
    for value in values:
        listed = value.kind is ValueKind.QUANTITY and alike[value.kind, value.unit] + bare * bool(value.unit) >= LIST
        if not listed:
            yield value


def _labels(text: str, values: Iterable[Value]) -> Iterator[tuple[str, str, int]]:
    """The numbers that may tell one thing from another of its kind, with the noun ahead of each."""
    for value in values:
        noun = LABELLED.search(text[: value.first])
        if noun and value.kind is ValueKind.QUANTITY and value.unit not in MEASURES:
            yield from ((word, value.value, value.first) for word in content_words(noun[1]))


def _things(parts: Iterable[str]) -> list[frozenset[str]]:
    return [words for part in parts if (words := frozenset(content_words(part)))]
