"""The exact search: every word or quoted phrase must occur, and identifiers must occur letter by letter.

The keyword index proposes passages; each is then compared with the question itself, since the index splits
`app.py:12` into words and would take `app py 12` for the same. Where nothing holds, the answer is nothing.
"""

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from memory_server.index.expression import (
    SENTENCE_MARKS,
    WORD,
    AllOf,
    AnyOf,
    Expression,
    Not,
    Term,
    find_wanted_terms,
    fts_query,
    is_identifier,
    unify_term,
    with_open_hashes,
)
from memory_server.index.keywords import Candidate, Keywords, Shortest
from memory_server.language.spelling import compose, unify
from memory_server.language.words import extra_words


@dataclass(frozen=True, slots=True)
class LiteralMatch:
    """A passage in which the question holds."""

    row: int  # of the ledger
    source: int
    closeness: int  # 0: as written; 1: in another case or spelling; 2: inside longer words; 3: a hash's beginning
    bm25: float  # smaller is better; the place among the shortest where too many have these words
    path: str  # of its source; puts equals in an order that a rebuild does not change
    is_spread: bool = False  # the words stand in one source, but not in one passage


@dataclass(frozen=True, slots=True)
class Where:
    """Where is searched: the keyword index, and the only sources that may answer, None for all.

    `shortest` stands in for bm25 where very many rows match.
    """

    keywords: Keywords
    sources: Container[int] | None
    shortest: Shortest | None = None

    def candidates(self, expression: Expression, *, as_prefix: bool = False) -> Iterator[Candidate]:
        """What the index proposes, best first."""
        return self.keywords.candidates(expression, self.shortest, as_prefix=as_prefix)

    def allows(self, source: int) -> bool:
        return self.sources is None or source in self.sources


def find_literal(where: Where, expression: Expression, limit: int, *, in_parts: bool = True) -> list[LiteralMatch]:
    """Passages in which an expression holds, best first.

    First as whole words in one passage, then as parts of names (`bar` of `fooBar` and `foo_bar`), then as the
    beginnings of words (identifiers and hashes alone), then as parts of words (identifiers alone), then spread over one
    source. The first of these that finds something answers. Parts of words cost reading every passage; `in_parts` False
    leaves them out.
    """
    parts = [_in_parts_of_words] if in_parts else []
    for stage in (_in_passages, _in_names, _in_longer_words, *parts, _in_sources):
        matches = _best(stage(where, expression), limit)
        if matches:
            return matches
    return []


def _best(matches: Iterator[LiteralMatch], limit: int) -> list[LiteralMatch]:
    """The best `limit` matches. They come in the order of bm25, so enough exact ones, with their equals, are all."""
    best: list[LiteralMatch] = []
    exact = 0
    for match in matches:
        if exact >= limit and match.bm25 > best[-1].bm25:
            break
        best.append(match)
        exact += match.closeness == 0
    return sorted(best, key=lambda match: (match.closeness, match.bm25, match.path, match.row))[:limit]


def holds(expression: Expression, text: str) -> bool:
    """Whether an expression holds in a text, in any case and spelling."""
    return _holds(expression, unify(text))


def _holds(expression: Expression, text: str) -> bool:
    """The same in a text that is in its one spelling."""
    if isinstance(expression, AllOf):
        return all(_holds(part, text) for part in expression.parts)
    if isinstance(expression, AnyOf):
        return any(_holds(part, text) for part in expression.parts)
    if isinstance(expression, Not):
        return not _holds(expression.part, text)
    return build_pattern(expression).search(text) is not None


def build_pattern(term: Term) -> re.Pattern[str]:
    """What a term looks like in a text: a whole word, words in order, the start of a word, or a literal."""
    text = unify_term(term)
    words = () if is_identifier(term) else WORD.findall(text)
    if not words:
        begin = r"\b" if term.is_prefix and WORD.match(text) else ""
        return re.compile(begin + re.escape(text), re.IGNORECASE)
    end = "" if term.is_prefix else r"\b"
    return re.compile(r"\b" + r"[\W_]+".join(map(re.escape, words)) + end, re.IGNORECASE)


def _in_passages(where: Where, expression: Expression) -> Iterator[LiteralMatch]:
    return _match_rows(where.candidates(expression), expression, where, least=0)


def _in_names(where: Where, expression: Expression) -> Iterator[LiteralMatch]:
    """Passages in which the words hold beside the parts of their names."""
    for row, source, path, bm25, context, passage in where.candidates(expression):
        text = f"{context}\n{passage}"
        if where.allows(source) and holds(expression, f"{text}\n{text.replace('_', ' ')}\n{extra_words(text)}"):
            yield LiteralMatch(row, source, 2, bm25, path)


def _in_longer_words(where: Where, expression: Expression) -> Iterator[LiteralMatch]:
    opened = with_open_hashes(expression)
    query = fts_query(opened, as_prefix=True)
    if query and query != fts_query(expression):
        least = 2 if opened == expression else 3
        yield from _match_rows(where.candidates(opened, as_prefix=True), opened, where, least=least)


def _in_parts_of_words(where: Where, expression: Expression) -> Iterator[LiteralMatch]:
    """Reads every passage, which only an identifier is worth: `ick/Contr` may be a part of a path."""
    longest = max(
        (unify_term(term) for term in find_wanted_terms(expression) if is_identifier(term)), key=len, default=""
    )
    if not longest:
        return
    if len(longest) < 3 and fts_query(expression):
        return
    yield from _match_rows(where.keywords.containing(longest), expression, where, least=2)


def _in_sources(where: Where, expression: Expression) -> Iterator[LiteralMatch]:
    """Sources in which the expression holds as a whole, each with the passage that has most of it."""
    for source, path, bm25, title, body in where.keywords.spread(expression):
        if where.allows(source) and holds(expression, f"{title}\n{body}"):
            best = _fullest_passage(where.keywords.read_passages(source), expression)
            if best is not None:
                yield LiteralMatch(best, source, 1, bm25, path, is_spread=True)


def _fullest_passage(rows: Sequence[tuple[int, str, str]], expression: Expression) -> int | None:
    """The passage of a source, of row, context and text each, that holds most of an expression; the first of equals."""
    parts = expression.parts if isinstance(expression, AllOf) else (expression,)
    wanted = [part for part in parts if not isinstance(part, Not)]
    counts = [(sum(holds(part, f"{row[1]}\n{row[2]}") for part in wanted), -place) for place, row in enumerate(rows)]
    return int(rows[-max(counts)[1]][0]) if counts else None


def _match_rows(
    rows: Iterable[Candidate], expression: Expression, where: Where, *, least: int
) -> Iterator[LiteralMatch]:
    wanted = list(find_wanted_terms(expression))
    for row, source, path, bm25, context, passage in rows:
        text = f"{context}\n{passage}"
        if where.allows(source) and holds(expression, text):
            yield LiteralMatch(row, source, max(least, _closeness(wanted, text)), bm25, path)


def _closeness(terms: Sequence[Term], text: str) -> int:
    """0 where every term stands as written and not inside a longer name, 1 in another case or spelling, else 2."""
    closeness, composed, unified = 0, compose(text), unify(text)
    for term in terms:
        if term.is_prefix or term.is_phrase or re.search(_whole(compose(term.text.rstrip(SENTENCE_MARKS))), composed):
            continue
        closeness = max(closeness, 1 if re.search(_whole(unify_term(term)), unified, re.IGNORECASE) else 2)
    return closeness


def _whole(text: str) -> str:
    return rf"(?<![\w]){re.escape(text)}(?![\w])"
