r"""What a person or a model typed, parsed.

    word            a word, or an identifier such as app.py:12, --flag, fooBar, 10.0.0.7
    "some words"    a phrase: these words in this order
    prefix*         any word that starts so
    a AND b, a OR b, NOT a, ( ... )    operators in capitals; words side by side are joined by AND in an exact search
    layer:topic  topic:mail  namespace:decisions  project:shop  machine:laptop  agent:codex  type:semantic  tag:dns
    entity:"mail relay"
    after:2026-01-31  before:2026-03
    as_of:2026-03    topics as git had them at the end of that month, and sessions up to then
    project:"a ""b"" c"    a value with blanks, or with quotation marks, each written twice

Everything else is text. A colon behind an unknown name is text too, so that `http://x` and `error: y` can be asked.
Nothing of this reaches the grammar of SQLite unquoted.
"""

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from memory_server.document import Filter, Layer
from memory_server.errors import UsageError
from memory_server.index.expression import AllOf, AnyOf, Expression, Not, Term, wanted_terms
from memory_server.language.spelling import compose
from memory_server.search.question import DEFAULT_LIMIT, LISTS, NO_FILTER, Question, Search

MAX_QUERY_CHARS = 10_000  # what is beyond is cut, and the answer says so
MAX_DEPTH = 10  # of brackets; SQLite's own parser gives up somewhat beyond

PREFIX = re.compile(r"\w[^*]*[\w./:-]\*+")  # `foo_b*`, `src/fo*`; `a*` and `*.py` are looked for as they stand
TOKEN = re.compile(
    r"""\s*(?:
        (?P<field>layer|topic|namespace|project|machine|agent|type|tag|entity|after|before|as_of):
            (?:"(?P<quoted_value>(?:[^"]|"")*)"|(?P<value>[^\s()]+))
      | "(?P<phrase>[^"]*)"(?P<phrase_prefix>\*?)
      | (?P<open>\() | (?P<close>\))
      | (?P<word>[^\s()"]+(?:\([^\s()]*\)[^\s()"]*)*)
      | (?P<stray>")
    )""",
    re.VERBOSE,
)


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
    wanted = list(wanted_terms(expression))
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


def filter_of(fields: Mapping[str, Sequence[str]]) -> Filter:
    """A filter from values by the names that the syntax has for them. Raises UsageError as `parse_query` does."""
    allowed = NO_FILTER
    for field, values in fields.items():
        for value in map(clean, values):
            if not value:
                raise UsageError(f"{field} is empty", remedy="Name one, or leave it out")
            allowed = _with_filter(allowed, field, value)
    return allowed


def clean(text: str) -> str:
    """The text as its letters are, without control characters and half surrogates, which no index takes.

    Typographic quotation marks are those of the syntax.
    """
    text = re.sub("[\u201c-\u201f\uff02]", '"', compose(text.encode("utf-8", "ignore").decode("utf-8")))
    return re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]+", " ", text).strip()


def parse_day(text: str) -> dt.date:
    """`2026`, `2026-03` or `2026-03-07` as the first day meant. Raises UsageError where it is none of these."""
    match = re.fullmatch(r"(\d{4})(?:-(\d{1,2}))?(?:-(\d{1,2}))?", text.strip())
    try:
        if match:
            return dt.date(int(match[1]), int(match[2] or 1), int(match[3] or 1))
    except ValueError:
        pass
    raise UsageError(f"{text!r} is no date", remedy="Write it as 2026-03-07, 2026-03 or 2026")


def last_day(text: str) -> dt.date:
    """The last day of what `parse_day` reads: of a year, of a month, or the day itself."""
    first = parse_day(text)
    match text.strip().count("-"):
        case 0:
            return first.replace(month=12, day=31)
        case 1:
            return (first.replace(day=1) + dt.timedelta(days=32)).replace(day=1) - dt.timedelta(days=1)
    return first


def _tokens(text: str, allowed: Filter) -> tuple[Filter, list[tuple[str, str]]]:
    """The filters added to those that are `allowed`, and the rest as (kind, text).

    Kinds: word, prefix, phrase, phrase_prefix, open, close, operator.
    """
    tokens: list[tuple[str, str]] = []
    for match in TOKEN.finditer(text):
        if field := match["field"]:
            quoted = match["quoted_value"]
            value = match["value"] if quoted is None else quoted.replace('""', '"')
            allowed = _with_filter(allowed, field, value)
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


def _with_filter(allowed: Filter, field: str, value: str) -> Filter:
    """A filter with one value more. Of days the last one named counts."""
    if field == "after":
        return replace(allowed, after=parse_day(value))
    if field == "before":
        return replace(allowed, before=parse_day(value))
    if field == "as_of":
        return replace(allowed, as_of=last_day(value))
    if field == "layer":
        return replace(allowed, layers=(*allowed.layers, _layer(value)))
    values: Any = (*getattr(allowed, LISTS[field]), value.casefold())  # the fields that are left hold texts
    return replace(allowed, **{LISTS[field]: values})


def _layer(name: str) -> Layer:
    try:
        return Layer(name.casefold().removesuffix("s"))
    except ValueError:
        raise UsageError(f"there is no layer {name!r}", remedy=f"Known ones: {', '.join(Layer)}") from None


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
        return _joined(AllOf, parts)

    def _any(self) -> Expression | None:
        parts = [self._all()]
        while self._next_is("OR"):
            self._at += 1
            parts.append(self._all())
        return _joined(AnyOf, parts)

    def _all(self) -> Expression | None:
        parts = []
        while self._at < len(self._tokens) and not self._next_is("OR") and self._tokens[self._at][0] != "close":
            if self._next_is("AND"):
                self._at += 1
                continue
            parts.append(self._one())
        return _joined(AllOf, parts)

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


def _joined(kind: type[AllOf] | type[AnyOf], parts: Sequence[Expression | None]) -> Expression | None:
    present = tuple(part for part in parts if part is not None)
    if not present:
        return None
    return present[0] if len(present) == 1 else kind(present)
