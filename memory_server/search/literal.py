"""The exact search: every word or quoted phrase must occur, and identifiers must occur letter by letter.

The keyword index proposes passages; each is then compared with the question itself, since the index splits
`app.py:12` into words and would take `app py 12` for the same. Where nothing holds, the answer is nothing.
"""

import re
import sqlite3
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from memory_server.index.ledger import escaped_like
from memory_server.language.words import CJK_RUN, cjk_pairs, extra_words
from memory_server.search.question import AllOf, AnyOf, Expression, Not, Term, wanted_terms

MAX_CANDIDATES = 2_000  # passages compared with the question; beyond, the order by bm25 has decided
WEIGHED = 500  # passages that are weighed by bm25; of more the shortest come first
SENTENCE_MARKS = ".,;:!?"
WORD = re.compile(r"\w+")
Candidate = tuple[int, int, str, float, str, str]  # row, source, path, bm25, context, passage


@dataclass(frozen=True, slots=True)
class LiteralMatch:
    """A passage in which the question holds."""

    row: int  # of the ledger
    source: int
    closeness: int  # 0: as written, as whole words; 1: in another case; 2: inside longer words
    bm25: float  # smaller is better; the place among the shortest where too many have these words
    path: str  # of its source; puts equals in an order that a rebuild does not change
    is_spread: bool = False  # the words stand in one source, but not in one passage


@dataclass(frozen=True, slots=True)
class Where:
    """Where is searched: the keyword index, and the only sources that may answer, None for all.

    `shortest` puts those of many rows that may answer in order, the shortest first. It stands in for bm25 where more
    than WEIGHED rows match: weighing takes four times as long as finding, and tells frequent words little apart.
    """

    connection: sqlite3.Connection
    sources: Container[int] | None
    shortest: Callable[[Sequence[int]], Sequence[int]] | None = None

    def allows(self, source: int) -> bool:
        return self.sources is None or source in self.sources


def find_literal(where: Where, expression: Expression, limit: int, *, in_parts: bool = True) -> list[LiteralMatch]:
    """Passages in which an expression holds, best first.

    First as whole words in one passage, then as parts of names with humps (`Bar` of `fooBar`), then as the beginnings
    of words, then as parts of words (both identifiers alone), then spread over one source. The first of these that
    finds something answers. Parts of words cost reading every passage; `in_parts` False leaves them out.
    """
    parts = [_in_parts_of_words] if in_parts else []
    for stage in (_in_passages, _in_names, _in_longer_words, *parts, _in_sources):
        matches = _best(stage(where, expression), limit)
        if matches:
            return matches
    return []


def _best(matches: Iterator[LiteralMatch], limit: int) -> list[LiteralMatch]:
    """The best `limit` matches. They come in the order of bm25, so enough exact ones, with their equals, are all."""
    kept: list[LiteralMatch] = []
    exact = 0
    for match in matches:
        if exact >= limit and match.bm25 > kept[-1].bm25:
            break
        kept.append(match)
        exact += match.closeness == 0
    return sorted(kept, key=lambda match: (match.closeness, match.bm25, match.path, match.row))[:limit]


def holds(expression: Expression, text: str) -> bool:
    """Whether an expression holds in a text, in any case."""
    if isinstance(expression, AllOf):
        return all(holds(part, text) for part in expression.parts)
    if isinstance(expression, AnyOf):
        return any(holds(part, text) for part in expression.parts)
    if isinstance(expression, Not):
        return not holds(expression.part, text)
    return pattern_of(expression).search(text) is not None


def pattern_of(term: Term, *, flags: int = re.IGNORECASE) -> re.Pattern[str]:
    """What a term looks like in a text: a whole word, words in order, the start of a word, or a literal."""
    text = written(term)
    if is_identifier(term):
        return re.compile(re.escape(text), flags)
    words = WORD.findall(text)
    if not words:
        return re.compile(re.escape(text), flags)
    return re.compile(r"\b" + r"[\W_]+".join(map(re.escape, words)) + ("" if term.is_prefix else r"\b"), flags)


def written(term: Term) -> str:
    """A term without the marks that end a sentence, unless it is made of nothing else."""
    return term.text if term.is_phrase else term.text.rstrip(SENTENCE_MARKS) or term.text


def is_identifier(term: Term) -> bool:
    """Whether a term is compared letter by letter: it holds marks, or characters of a script without blanks."""
    return not term.is_phrase and (not WORD.fullmatch(written(term)) or bool(CJK_RUN.search(term.text)))


def fts_query(expression: Expression, *, as_prefix: bool = False) -> str:
    """An expression in the grammar of FTS5, every word quoted; empty where no index can help."""
    if isinstance(expression, Term):
        return _fts_term(expression, as_prefix)
    if isinstance(expression, Not):
        return ""
    if isinstance(expression, AnyOf):
        parts = [fts_query(part, as_prefix=as_prefix) for part in expression.parts]
        return f"({' OR '.join(parts)})" if all(parts) else ""
    wanted = [query for part in expression.parts if (query := fts_query(part, as_prefix=as_prefix))]
    unwanted = [
        query
        for part in expression.parts
        if isinstance(part, Not) and not _has_identifier(part.part) and (query := fts_query(part.part))
    ]
    joined = f"({' AND '.join(wanted)})" if wanted else ""
    return f"({joined} NOT ({' OR '.join(unwanted)}))" if joined and unwanted else joined


def quoted(text: str) -> str:
    """A text as one FTS5 string."""
    return '"' + text.replace("\0", "").replace('"', '""') + '"'


def _fts_term(term: Term, as_prefix: bool) -> str:
    text = written(term)
    pairs = list(cjk_pairs(text))
    if pairs:
        return f"({' AND '.join(quoted(pair) + ('*' if len(pair) == 1 else '') for pair in pairs)})"
    if not WORD.search(text.replace("_", "")):
        return ""
    return quoted(text) + ("*" if term.is_prefix or (as_prefix and is_identifier(term)) else "")


def _has_identifier(expression: Expression) -> bool:
    if isinstance(expression, Term):
        return is_identifier(expression)
    parts = (expression.part,) if isinstance(expression, Not) else expression.parts
    return any(_has_identifier(part) for part in parts)


def _in_passages(where: Where, expression: Expression) -> Iterator[LiteralMatch]:
    query = fts_query(expression)
    yield from _compared(_candidates(where, query), expression, where, least=0) if query else ()


def _in_names(where: Where, expression: Expression) -> Iterator[LiteralMatch]:
    """Passages in which the words hold beside the parts of their names."""
    query = fts_query(expression)
    if not query:
        return
    for row, source, path, bm25, context, passage in _candidates(where, query):
        text = f"{context}\n{passage}"
        if where.allows(source) and holds(expression, f"{text}\n{extra_words(text)}"):
            yield LiteralMatch(row, source, 2, bm25, path)


def _in_longer_words(where: Where, expression: Expression) -> Iterator[LiteralMatch]:
    query = fts_query(expression, as_prefix=True)
    if query and query != fts_query(expression):
        yield from _compared(_candidates(where, query), expression, where, least=2)


def _in_parts_of_words(where: Where, expression: Expression) -> Iterator[LiteralMatch]:
    """Reads every passage, which only an identifier is worth: `ick/Contr` may be a part of a path."""
    longest = max((written(term) for term in wanted_terms(expression) if is_identifier(term)), key=len, default="")
    if not longest:
        return
    if len(longest) < 3 and fts_query(expression):
        return
    rows = where.connection.execute(
        "select chunk.id, source, path, 0.0, context, passage from chunk join source on source.id = chunk.source"
        " where text_hash is not null"
        " and (passage like ? escape '\\' or context like ? escape '\\') limit ?",
        (like := f"%{escaped_like(longest)}%", like, MAX_CANDIDATES),
    )
    yield from _compared(rows, expression, where, least=2)


def _in_sources(where: Where, expression: Expression) -> Iterator[LiteralMatch]:
    """Sources in which the expression holds as a whole, each with the passage that has most of it."""
    query = fts_query(expression)
    if not query:
        return
    rows = where.connection.execute(
        "select source.id, path, bm25(bodies), source.title, source.body from bodies"
        " join source on source.id = bodies.rowid where bodies match ? order by rank limit ?",
        (query, MAX_CANDIDATES),
    )
    for source, path, bm25, title, body in rows:
        if where.allows(source) and holds(expression, f"{title}\n{body}"):
            best = _fullest_passage(where.connection, source, expression)
            if best is not None:
                yield LiteralMatch(best, source, 1, bm25, path, is_spread=True)


def _fullest_passage(connection: sqlite3.Connection, source: int, expression: Expression) -> int | None:
    """The passage of a source in which most parts of an expression hold; the first of equals."""
    rows = connection.execute(
        "select id, context, passage from chunk where source = ? and text_hash is not null order by ordinal", (source,)
    ).fetchall()
    parts = expression.parts if isinstance(expression, AllOf) else (expression,)
    wanted = [part for part in parts if not isinstance(part, Not)]
    counts = [(sum(holds(part, f"{row[1]}\n{row[2]}") for part in wanted), -place) for place, row in enumerate(rows)]
    return int(rows[-max(counts)[1]][0]) if counts else None


def _candidates(where: Where, query: str) -> Iterator[Candidate]:
    """Passages with the words of a query, best first.

    bm25 counts every occurrence of every word, which is most of the time of a long query; a single passage needs none.
    """
    matching = "select rowid from words where words match ?"
    first = where.connection.execute(f"{matching} limit ?", (query, WEIGHED + 1)).fetchall()
    rows: Sequence[int] = [row for (row,) in first]
    if len(rows) > WEIGHED and where.shortest:
        rows = where.shortest([row for (row,) in where.connection.execute(matching, (query,))])
    elif len(rows) > 1:
        yield from where.connection.execute(
            "select chunk.id, chunk.source, path, bm25(words, 2.0, 1.0, 0.5), chunk.context, chunk.passage"
            " from words join chunk on chunk.id = words.rowid join source on source.id = chunk.source"
            " where words match ? order by rank limit ?",
            (query, MAX_CANDIDATES),
        )
        return
    for place, row in enumerate(rows):
        yield from where.connection.execute(
            "select chunk.id, chunk.source, path, ?, chunk.context, chunk.passage"
            " from chunk join source on source.id = chunk.source where chunk.id = ?",
            (float(place), row),
        )


def _compared(rows: Iterable[Candidate], expression: Expression, where: Where, *, least: int) -> Iterator[LiteralMatch]:
    wanted = list(wanted_terms(expression))
    for row, source, path, bm25, context, passage in rows:
        text = f"{context}\n{passage}"
        if where.allows(source) and holds(expression, text):
            yield LiteralMatch(row, source, max(least, _closeness(wanted, text)), bm25, path)


def _closeness(terms: Sequence[Term], text: str) -> int:
    """0 where every term stands as written and not inside a longer name, 1 where only the case differs, else 2."""
    closeness = 0
    for term in terms:
        whole = rf"(?<![\w]){re.escape(written(term))}(?![\w])"
        if term.is_prefix or term.is_phrase or re.search(whole, text):
            continue
        closeness = max(closeness, 1 if re.search(whole, text, re.IGNORECASE) else 2)
    return closeness
