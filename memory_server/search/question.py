r"""A question as data, from the face that built it to the answer, and what a person or a model typed, parsed into one.

    word            a word, or an identifier such as app.py:12, --flag, fooBar, 10.0.0.7
    "some words"    a phrase: these words in this order
    prefix*         any word that starts so
    a AND b, a OR b, NOT a, ( ... )    operators in capitals; words side by side are joined by AND in an exact search
    layer:topic  project:shop  after:2026-01-31    filters, as `fields.py` lists them
    project:"a ""b"" c"    a value with blanks, or with quotation marks, each written twice

Everything else is text. A colon behind an unknown name is text too, so that `http://x` and `error: y` can be asked.
Nothing of this reaches the grammar of SQLite unquoted. Nothing here is heavy: the command line imports it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from memory_server.document import TYPES, Layer
from memory_server.errors import UsageError
from memory_server.fields import BY_NAME, NO_FILTER, Filter
from memory_server.index.expression import AllOf, AnyOf, Expression, Not, Term, find_wanted_terms
from memory_server.language.spelling import compose

DEFAULT_LIMIT = 10
MAX_LIMIT = 100
SHOWN_HITS = 6  # of one answer to a model, unless it asks for more
SEVERAL = 5  # hits of one session where more are asked for: answers of one day stand side by side
EMPTY = "This memory is empty: it holds no topic and no session yet. `oneiros remember` keeps what you tell it."
MAX_QUERY_CHARS = 10_000  # what is beyond is cut, and the answer says so
LOGGED_TYPES = re.compile(rf'(?:type:"(?:{"|".join(TYPES)})" )*')
MAX_DEPTH = 10  # of brackets; SQLite's own parser gives up somewhat beyond
PREFIX = re.compile(r"\w[^*]*[\w./:-]\*+")  # `foo_b*`, `src/fo*`; `a*` and `*.py` are looked for as they stand
TOKEN = re.compile(
    rf"""\s*(?:
        (?P<field>{"|".join(BY_NAME)}):
            (?:"(?P<quoted_value>(?:[^"]|"")*)"|(?P<value>[^\s()]+))
      | "(?P<phrase>[^"]*)"(?P<phrase_prefix>\*?)
      | (?P<open>\() | (?P<close>\))
      | (?P<word>[^\s()"]+(?:\([^\s()]*\)[^\s()"]*)*)
      | (?P<stray>")
    )""",
    re.VERBOSE,
)


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

    Raises UsageError for numbers and types that cannot be. `parse_query` makes one of what was typed.
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
        """What was typed and told beside it, in the query syntax. Types and limits stay out."""
        return " ".join([*filter_words(self.beside), self.typed])

    @property
    def logged_query(self) -> str:
        """What the log keeps of it, which `parse_logged` reads: its types first, written as filters are."""
        return " ".join([*(f'type:"{one}"' for one in self.types), self.full_query])

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


def parse_query(
    text: str,
    search: Search = Search.RECALL,
    *,
    beside: Filter = NO_FILTER,
    types: Sequence[str] = (),
    limit: int = DEFAULT_LIMIT,
    per_source: int = 1,
    include_raw: bool = False,
) -> Question:
    """Reads what was typed. `beside`: what a face was told to filter by; it adds to the filters in the text.

    Raises UsageError for an empty query, an unknown layer or type, a date that is none, and numbers out of bounds.
    """
    is_cut = len(text) > MAX_QUERY_CHARS
    text = clean(text[:MAX_QUERY_CHARS])
    if not text:
        raise UsageError(
            "the query is empty", remedy="Ask with a few words, such as `oneiros recall 'how do we deploy'`"
        )
    allowed, tokens = _tokens(text, beside)
    expression = _Parser(tokens).parse()
    wanted = list(find_wanted_terms(expression))
    if expression is None or not wanted:
        raise UsageError("the query holds no word to look for", remedy="Add a few words beside the filters")
    return Question(
        text=" ".join(term.text for term in wanted),
        expression=expression,
        filter=allowed,
        search=search,
        types=tuple(types),
        limit=limit,
        per_source=per_source,
        include_raw=include_raw,
        typed=text,
        beside=beside,
        is_cut=is_cut,
    )


def parse_logged(text: str, search: Search, *, limit: int = DEFAULT_LIMIT) -> Question:
    """A question as the log kept it, see `Question.logged_query`. Raises as `parse_query` does."""
    end = LOGGED_TYPES.match(text).end()  # type: ignore[union-attr]  # it matches nothing, too
    return parse_query(text[end:], search, types=re.findall('"(.+?)"', text[:end]), limit=limit)


def build_filter(fields: Mapping[str, Sequence[str]]) -> Filter:
    """A filter from values by the names that the syntax has for them. Raises UsageError as `parse_query` does."""
    allowed = NO_FILTER
    for field, values in fields.items():
        for value in map(clean, values):
            if not value:
                raise UsageError(f"{field} is empty", remedy="Name one, or leave it out")
            allowed = allowed.with_value(field, value)
    return allowed


def clean(text: str) -> str:
    """The text as its letters are, without control characters and half surrogates, which no index takes.

    Typographic quotation marks are those of the syntax.
    """
    text = re.sub("[\u201c-\u201f\uff02]", '"', compose(text.encode("utf-8", "ignore").decode("utf-8")))
    return re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]+", " ", text).strip()


def _tokens(text: str, allowed: Filter) -> tuple[Filter, list[tuple[str, str]]]:
    """The filters added to those that are `allowed`, and the rest as (kind, text).

    Kinds: word, prefix, phrase, phrase_prefix, open, close, operator.
    """
    tokens: list[tuple[str, str]] = []
    for match in TOKEN.finditer(text):
        if field := match["field"]:
            quoted = match["quoted_value"]
            value = match["value"] if quoted is None else quoted.replace('""', '"')
            allowed = allowed.with_value(field, value)
        elif match["phrase"] is not None:
            if match["phrase"].strip():
                tokens.append(("phrase_prefix" if match["phrase_prefix"] else "phrase", match["phrase"].strip()))
        elif match["open"]:
            tokens.append(("open", "("))
        elif match["close"]:
            tokens.append(("close", ")"))
        elif word := match["word"]:
            if word in ("AND", "OR", "NOT"):
                tokens.append(("operator", word))
            elif PREFIX.fullmatch(word):
                tokens.append(("prefix", word.rstrip("*")))
            else:
                tokens.append(("word", word))
    return allowed, tokens


class _Parser:
    """OR binds weakest, then AND (also by standing side by side), then NOT. Stray operators count as words."""

    def __init__(self, tokens: Sequence[tuple[str, str]]):
        self._tokens = list(tokens)
        self._at = 0
        self._depth = 0

    def parse(self) -> Expression | None:
        parts = []
        while self._at < len(self._tokens):
            if (part := self._any()) is not None:
                parts.append(part)
            if self._at < len(self._tokens) and self._tokens[self._at][0] == "close":
                self._at += 1  # a bracket that was never opened
        return _join_parts(AllOf, parts)

    def _any(self) -> Expression | None:
        parts = [self._all()]
        while self._next_is("OR"):
            self._at += 1
            parts.append(self._all())
        return _join_parts(AnyOf, parts)

    def _all(self) -> Expression | None:
        parts = []
        while self._at < len(self._tokens) and not self._next_is("OR") and self._tokens[self._at][0] != "close":
            if self._next_is("AND"):
                self._at += 1
                continue
            parts.append(self._one())
        return _join_parts(AllOf, parts)

    def _one(self) -> Expression | None:
        kind, value = self._tokens[self._at]
        self._at += 1
        if kind == "operator":  # NOT; the others were taken above
            has_next = self._at < len(self._tokens) and self._tokens[self._at][0] not in ("operator", "close")
            part = self._one() if has_next else None
            return Not(part) if part is not None else Term(value)
        if kind == "open":
            self._depth += 1
            if self._depth > MAX_DEPTH:
                raise UsageError(f"the query nests brackets more than {MAX_DEPTH} deep", remedy="Ask more simply")
            part = self._any()
            self._at += 1
            self._depth -= 1
            return part
        if kind == "close":
            return None
        return Term(value, is_phrase=kind.startswith("phrase"), is_prefix=kind.endswith("prefix"))

    def _next_is(self, operator: str) -> bool:
        return self._at < len(self._tokens) and self._tokens[self._at] == ("operator", operator)


def _join_parts(kind: type[AllOf] | type[AnyOf], parts: Sequence[Expression | None]) -> Expression | None:
    present = tuple(part for part in parts if part is not None)
    if not present:
        return None
    return present[0] if len(present) == 1 else kind(present)
