"""A question as data, from the face that built it to the answer. Nothing here is heavy: the command line imports it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from memory_server.document import TYPES, Layer
from memory_server.errors import UsageError
from memory_server.fields import NO_FILTER, Filter
from memory_server.index.expression import AllOf, AnyOf, Expression, Not, Term, find_wanted_terms

DEFAULT_LIMIT = 10
MAX_LIMIT = 100
SHOWN_HITS = 6  # of one answer to a model, unless it asks for more
SEVERAL = 5  # hits of one session where more are asked for: answers of one day stand side by side
EMPTY = "This memory is empty: it holds no topic and no session yet. `oneiros remember` keeps what you tell it."


class Search(StrEnum):
    """In which manner is looked; the names are those of the MCP tools."""

    RECALL = "recall"  # by words and meaning together
    MEANING = "search_memory"
    EXACT = "search_exact"

    @property
    def command(self) -> str:
        """What the command line calls it."""
        return {Search.MEANING: "search", Search.EXACT: "exact"}.get(self, self.value)

    @property
    def route(self) -> str:
        """Where REST answers it."""
        return f"/api/{self.command}"


def with_commands(text: str) -> str:
    """A sentence of ours for whoever types: with the commands in place of the tools of the same searches."""
    for search in Search:
        text = text.replace(search.value, search.command)
    return text


@dataclass(frozen=True, slots=True)
class Question:
    """What somebody asks: for what, in which manner, where the answer may stand, and how much of it.

    Raises UsageError for numbers and types that cannot be. `query.parse_query` makes one of what was typed.
    """

    text: str  # without filters, operators and what is behind NOT: what is embedded
    expression: Expression
    filter: Filter = NO_FILTER  # its layers too; none named: topics and sessions, and what stands in for them
    search: Search = Search.RECALL
    types: tuple[str, ...] = ()  # of what sessions said, by the recorder; alternatives, see `document.TYPES`
    limit: int = DEFAULT_LIMIT
    per_source: int = 1  # passages of one source
    include_raw: bool = False  # archived turns too
    typed: str = ""  # as it was typed
    beside: Filter = NO_FILTER  # the part of `filter` that was told beside it
    is_cut: bool = False  # it was longer than a question may be

    def __post_init__(self) -> None:
        if not 1 <= self.limit <= MAX_LIMIT:
            raise UsageError(f"limit is {self.limit}", remedy=f"Give a number from 1 to {MAX_LIMIT}")
        if self.per_source < 1:
            raise UsageError(f"per_source is {self.per_source}", remedy="Give a number from 1 on")
        for unknown in set(self.types) - set(TYPES):
            raise UsageError(f"there is no type {unknown!r}", remedy=f"Choose one of: {', '.join(TYPES)}")

    @property
    def full_query(self) -> str:
        """What was typed and told beside it, in the query syntax: what the log keeps. Types and limits stay out."""
        return " ".join([*filter_words(self.beside), self.typed])

    @property
    def asks_turns(self) -> bool:
        """Whether archived turns are asked for, rather than a last resort."""
        return self.include_raw or Layer.RAW in self.filter.layers

    @property
    def per_session(self) -> int:
        """How many hits one session may have."""
        return self.per_source if self.limit <= SHOWN_HITS else max(self.per_source, SEVERAL)

    def of_layers(self, *layers: Layer) -> "Question":
        """The same question of some layers alone."""
        return replace(self, filter=replace(self.filter, layers=layers))

    def as_phrase(self) -> "Question | None":
        """The same words as one phrase; None where they are one word, or operators or marks stand between them."""
        parts = self.expression.parts if isinstance(self.expression, AllOf) else ()
        plain = [part.text for part in parts if isinstance(part, Term) and not (part.is_phrase or part.is_prefix)]
        if len(plain) < 2 or len(plain) < len(parts):
            return None
        return replace(self, expression=Term(" ".join(plain), is_phrase=True))

    def terms(self) -> tuple[Term, ...]:
        """The things to look for, without those behind NOT, in the order typed."""
        return tuple(find_wanted_terms(self.expression))

    def list_excluded(self) -> tuple[Term, ...]:
        """The things behind NOT."""
        return tuple(_find_excluded_terms(self.expression))


def _find_excluded_terms(expression: Expression) -> Iterator[Term]:
    if isinstance(expression, Not):
        yield from find_wanted_terms(expression.part)
    elif isinstance(expression, AllOf | AnyOf):
        for part in expression.parts:
            yield from _find_excluded_terms(part)


def filter_words(allowed: Filter) -> Iterator[str]:
    """A filter in the query syntax; a quotation mark inside a value is written twice."""
    for field, wanted in allowed.list_wanted():
        if field.is_day:
            yield f"{field.name}:{wanted.isoformat()}"
        else:
            for value in wanted:
                quoted = value.replace('"', '""')
                yield f'{field.name}:"{quoted}"'


def question_json(question: Question) -> dict[str, object]:
    """The body of a request to the REST route of the question's search. What says nothing is left out."""
    filters = {
        field.key: wanted.isoformat() if field.is_day else [*wanted] for field, wanted in question.beside.list_wanted()
    }
    types = {"type": list(question.types)} if question.types else {}
    limits = {"limit": question.limit, "per_source": question.per_source, "include_raw": question.include_raw}
    return {"query": question.typed, **filters, **types, **limits}


def several(value: str | Sequence[str]) -> Sequence[str]:
    """One value or several, as a list of those that say something."""
    return [one for one in ([value] if isinstance(value, str) else value) if one]
