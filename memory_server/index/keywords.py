"""What the keyword index is asked: where a stem stands, which passages hold an expression, which sources.

`Keywords` is what search needs of an engine; `SqliteKeywords` asks FTS5, see `schema.py`.
"""

import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memory_server.index.expression import Expression, fts_query, quote_text

WEIGHED = 500  # passages that are weighed by bm25; of more the shortest come first
MAX_CANDIDATES = 2_000  # passages compared with a question; beyond, the order by bm25 has decided
FIELD_WEIGHTS = (2.0, 1.0, 0.5)  # of context, passage and parts of names, in bm25
Candidate = tuple[int, int, str, float, str, str]  # row, source, path, bm25 (below 0), context, passage
SpreadCandidate = tuple[int, str, float, str, str]  # source, path, bm25, title, body
Shortest = Callable[[Sequence[int]], Sequence[int]]  # of many rows those that may answer, the shortest first


class Keywords(Protocol):
    """The keyword index of one moment. Rows are numbers of passages, sources have numbers of their own."""

    def holders(self, stems: Sequence[str]) -> list[int]:
        """How many passages hold each of some stems."""

    def occurrences(self, stem: str) -> NDArray[np.int64]:
        """Where a stem stands, (n, 3), rows rising: row, how often in its passage, how often in its context."""

    def source_holders(self, word: str) -> int:
        """How many sources hold a word as it is written."""

    def in_sources(self, word: str) -> NDArray[np.float64]:
        """The sources that hold a word, (n, 2): number and bm25, which is below 0."""

    def candidates(self, expression: Expression, shortest: Shortest | None, *, as_prefix: bool) -> Iterator[Candidate]:
        """Passages with the words of an expression, best first; of more than WEIGHED the shortest, where told how.

        `as_prefix`: identifiers may go on. None where `fts_query` makes nothing of the expression.
        """

    def containing(self, text: str) -> Iterator[Candidate]:
        """Passages in which a text stands letter by letter, in any case, inside words too, not too many."""

    def spread(self, expression: Expression) -> Iterator[SpreadCandidate]:
        """Sources that hold the words of an expression as a whole, best first."""

    def read_passages(self, source: int) -> list[tuple[int, str, str]]:
        """The searchable passages of a source in their order: row, context, passage."""


class SqliteKeywords:
    """The keyword index in the file of a ledger."""

    def __init__(self, connection: sqlite3.Connection):
        self._connection = connection

    def holders(self, stems: Sequence[str]) -> list[int]:
        # all in one go: in a small index each call of SQLite costs more than the work in it
        counting = "select term, doc from stem_counts where term in (select value from json_each(?))"
        counts = dict(self._connection.execute(counting, (json.dumps(stems),)))
        return [int(counts.get(stem, 0)) for stem in stems]

    def occurrences(self, stem: str) -> NDArray[np.int64]:
        """See `Keywords`.

        The occurrences come as one text, each as twice its row and 1 for the context: a tenth of a microsecond each,
        where rows of SQL take a whole one.
        """
        (text,) = self._connection.execute(
            "select group_concat(doc * 2 + (col = 'context')) from stem_places where term = ?", (stem,)
        ).fetchone()
        return count_occurrences(np.fromstring(text or "", dtype=np.int64, sep=","))

    def source_holders(self, word: str) -> int:
        matching = "select count(*) from bodies where bodies match ?"
        return int(self._connection.execute(matching, (quote_text(word),)).fetchone()[0])

    def in_sources(self, word: str) -> NDArray[np.float64]:
        matching = "select rowid, bm25(bodies) from bodies where bodies match ?"
        rows = self._connection.execute(matching, (quote_text(word),)).fetchall()
        return np.array(rows, dtype=np.float64).reshape(-1, 2)

    def candidates(self, expression: Expression, shortest: Shortest | None, *, as_prefix: bool) -> Iterator[Candidate]:
        """See `Keywords`. To weigh by bm25 takes four times as long as to find, and tells frequent words little."""
        query = fts_query(expression, as_prefix=as_prefix)
        if not query:
            return
        matching = "select rowid from words where words match ?"
        first = self._connection.execute(f"{matching} limit ?", (query, WEIGHED + 1)).fetchall()
        rows: Sequence[int] = [row for (row,) in first]
        if len(rows) > WEIGHED and shortest:
            rows = shortest([row for (row,) in self._connection.execute(matching, (query,))])
        elif len(rows) > 1:
            yield from self._connection.execute(
                "select chunk.id, chunk.source, path, bm25(words, ?, ?, ?), chunk.context, chunk.passage"
                " from words join chunk on chunk.id = words.rowid join source on source.id = chunk.source"
                " where words match ? order by 4 limit ?",
                (*FIELD_WEIGHTS, query, MAX_CANDIDATES),
            )
            return
        for place, row in enumerate(rows):
            yield from self._connection.execute(
                "select chunk.id, chunk.source, path, ?, chunk.context, chunk.passage"
                " from chunk join source on source.id = chunk.source where chunk.id = ?",
                (float(place), row),
            )

    def containing(self, text: str) -> Iterator[Candidate]:
        yield from self._connection.execute(
            "select chunk.id, source, path, 0.0, context, passage from chunk join source on source.id = chunk.source"
            " where text_hash is not null and (ifnull(unified_passage, passage) like ? escape '\\'"
            " or ifnull(unified_context, context) like ? escape '\\') limit ?",
            (like := f"%{escape_like(text)}%", like, MAX_CANDIDATES),
        )

    def spread(self, expression: Expression) -> Iterator[SpreadCandidate]:
        if query := fts_query(expression):
            yield from self._connection.execute(
                "select source.id, path, bm25(bodies), source.title, source.body from bodies"
                " join source on source.id = bodies.rowid where bodies match ? order by rank limit ?",
                (query, MAX_CANDIDATES),
            )

    def read_passages(self, source: int) -> list[tuple[int, str, str]]:
        return self._connection.execute(
            "select id, context, passage from chunk where source = ? and text_hash is not null order by ordinal",
            (source,),
        ).fetchall()


def count_occurrences(occurrences: NDArray[np.int64]) -> NDArray[np.int64]:
    """Occurrences, each as twice its row and 1 for the context, as `Keywords.occurrences` gives them."""
    # each row once, with the number of its occurrences, and how many of these are in the context
    rows, firsts, counts = np.unique(occurrences >> 1, return_index=True, return_counts=True)
    in_context = np.add.reduceat(occurrences & 1, firsts) if len(rows) else counts
    return np.stack([rows, counts - in_context, in_context], axis=1)


def escape_like(text: str) -> str:
    """A text as LIKE finds it, with `\\` as its escape: `_` and `%` stand for themselves."""
    return re.sub(r"([\\%_])", r"\\\1", text)
