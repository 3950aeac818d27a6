"""The keyword index of a tenant, as search asks for it: the same answers as FTS5 gives, from postings in arrays."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import psycopg
from numpy.typing import NDArray

from memory_server.index.expression import AllOf, AnyOf, Expression, Not, Term, fts_query, has_identifier, split_phrases
from memory_server.index.keywords import (
    FIELD_WEIGHTS,
    MAX_CANDIDATES,
    WEIGHED,
    Candidate,
    Shortest,
    SpreadCandidate,
    count_occurrences,
    escape_like,
)
from memory_server.language.words import Stemmer
from parts.team.engine.heads import Heads
from parts.team.engine.postings import FIELD, Places, shape_places

K1, B = 1.2, 0.75  # of FTS5's bm25
LEAST_IDF = 1e-6  # the same
LAST = "\U0010ffff"  # behind every term that begins with what stands before it

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Weighted:
    """Passages that hold a phrase, rising, with how often, by the weights of their fields."""

    rows: Rows
    counts: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TeamKeywords:
    """The keyword index of one tenant, as one transaction sees it."""

    connection: psycopg.Connection
    tenant: int
    heads: Heads
    cutter: Stemmer  # into words as they are written

    # -- what recall asks ---------------------------------------------------------------------------------------

    def holders(self, stems: Sequence[str]) -> list[int]:
        rows = self.connection.execute(
            "select term, sum(holders) from posting where tenant = %s and block = any(%s) and term = any(%s)"
            " group by term",
            (self.tenant, self.heads.blocks, [f"s{stem}" for stem in stems]),
        )
        counts = dict(rows.fetchall())
        return [int(counts.get(f"s{stem}", 0)) for stem in stems]

    def occurrences(self, stem: str) -> NDArray[np.int64]:
        return count_occurrences(self._places(f"s{stem}").astype(np.int64))

    def source_holders(self, word: str) -> int:
        return len(self._of_sources(word).rows)

    def in_sources(self, word: str) -> NDArray[np.float64]:
        found = self._of_sources(word)
        return np.column_stack([found.rows.astype(np.float64), -self._source_scores([found], found.rows)])

    # -- what the exact search asks -----------------------------------------------------------------------------

    def candidates(self, expression: Expression, shortest: Shortest | None, *, as_prefix: bool) -> Iterator[Candidate]:
        if not fts_query(expression, as_prefix=as_prefix):
            return
        phrases: list[Weighted] = []
        rows = self._matching(expression, phrases, as_prefix=as_prefix)
        scores = np.arange(len(rows), dtype=np.float64)
        if len(rows) > WEIGHED and shortest:
            rows = np.array(shortest(rows.tolist()), dtype=np.int64)
        elif len(rows) > 1:
            scores = -self._passage_scores(phrases, rows)
            order = np.argsort(scores, kind="stable")[:MAX_CANDIDATES]
            rows, scores = rows[order], scores[order]
        yield from self._read(rows, scores)

    def containing(self, text: str) -> Iterator[Candidate]:
        like = f"%{escape_like(text)}%"
        rows = self.connection.execute(
            "select id from passage where tenant = %s and (passage ilike %s or context ilike %s) order by id limit %s",
            (self.tenant, like, like, MAX_CANDIDATES),
        )
        found = np.array([row for (row,) in rows], dtype=np.int64)
        found = found[self.heads.snapshot.passages.look_up(found)[1]]
        yield from self._read(found, np.zeros(len(found)))

    def spread(self, expression: Expression) -> Iterator[SpreadCandidate]:
        """See `Keywords`. A phrase counts here as its words: whether it stands there, the caller reads."""
        if not fts_query(expression):
            return
        words: list[Weighted] = []
        sources = self._matching(expression, words, as_prefix=False, of_sources=True)
        scores = -self._source_scores(words, sources)
        best = np.argsort(scores, kind="stable")[:MAX_CANDIDATES]
        texts = dict(
            self.connection.execute(
                "select id, body from source where tenant = %s and id = any(%s)",
                (self.tenant, encode_array(sources[best].tolist())),
            ).fetchall()
        )
        for number, score in zip(sources[best].tolist(), scores[best].tolist(), strict=True):
            head = self.heads.snapshot.sources[number]
            yield number, head.path, score, head.title, texts[number]

    def read_passages(self, source: int) -> list[tuple[int, str, str]]:
        rows = self.connection.execute(
            "select id, context, passage from passage where tenant = %s and source = %s order by ordinal",
            (self.tenant, source),
        ).fetchall()
        is_held = self.heads.snapshot.passages.look_up([row for row, *_ in rows])[1]
        return [row for row, held in zip(rows, is_held, strict=True) if held]

    # -- expressions --------------------------------------------------------------------------------------------

    def _matching(
        self, expression: Expression, phrases: list[Weighted], *, as_prefix: bool, of_sources: bool = False
    ) -> Rows:
        """The rows in which an expression's words stand, as FTS5 takes `fts_query` of it; fills `phrases`."""

        def matching(part: Expression) -> Rows:
            if isinstance(part, Term):
                return of_term(part)
            if isinstance(part, AnyOf):
                return np.unique(np.concatenate([matching(one) for one in part.parts]))
            assert isinstance(part, AllOf)
            wanted = [matching(one) for one in part.parts if fts_query(one, as_prefix=as_prefix)]
            held = wanted[0]
            for rows in wanted[1:]:
                held = np.intersect1d(held, rows, assume_unique=True)
            for one in part.parts:
                if isinstance(one, Not) and not has_identifier(one.part) and fts_query(one.part):
                    held = np.setdiff1d(held, matching(one.part), assume_unique=True)
            return held

        def of_term(term: Term) -> Rows:
            held: Rows | None = None
            for text, is_prefix in split_phrases(term, as_prefix=as_prefix):
                words = self._cut(text)
                found = [self._of_sources(word) for word in words] if of_sources else [self._phrase(words, is_prefix)]
                phrases.extend(found)
                for one in found:
                    held = one.rows if held is None else np.intersect1d(held, one.rows, assume_unique=True)
            return np.zeros(0, dtype=np.int64) if held is None else held

        return matching(expression)

    def _phrase(self, words: Sequence[str], is_prefix: bool) -> Weighted:
        """Where words stand one behind the other in a field; the last may go on where it is a prefix."""
        keys = np.zeros(0, dtype=np.int64)
        for place, word in enumerate(words):
            is_open = is_prefix and place == len(words) - 1
            places = self._places(f"w{word}", or_longer=is_open).astype(np.int64)
            starts = (places[:, 0] << 32) + places[:, 1] - place
            starts = np.unique(starts) if is_open else starts
            keys = np.intersect1d(keys, starts, assume_unique=True) if place else starts
        # each row once, with the weights of the fields in which the phrase stands
        rows = keys >> 32
        firsts = np.flatnonzero(np.diff(rows, prepend=-1))
        weights = np.array(FIELD_WEIGHTS)[(keys & 0xFFFF_FFFF) // FIELD]
        return Weighted(rows[firsts], np.add.reduceat(weights, firsts) if len(firsts) else weights)

    def _of_sources(self, word: str) -> Weighted:
        words = self._cut(word)
        found = [self._places(f"b{one}").astype(np.int64) for one in words]
        rows = found[0][:, 0] if found else np.zeros(0, dtype=np.int64)
        counts = found[0][:, 1].astype(np.float64) if found else np.zeros(0)
        for table in found[1:]:  # a word that is cut in several
            rows, one, other = np.intersect1d(rows, table[:, 0], assume_unique=True, return_indices=True)
            counts = np.minimum(counts[one], table[other, 1])
        return Weighted(rows, counts)

    # -- bm25 as FTS5 computes it: https://sqlite.org/fts5.html, section 5.1.1 ---------------------------------------

    def _passage_scores(self, phrases: Sequence[Weighted], rows: Rows) -> NDArray[np.float64]:
        lengths = self.heads.lengths[self.heads.snapshot.passages.places(rows)]
        return _bm25(phrases, rows, lengths, self.heads.chunks, self.heads.tokens)

    def _source_scores(self, words: Sequence[Weighted], rows: Rows) -> NDArray[np.float64]:
        of_source = self.heads.body_lengths
        lengths = np.array([of_source[row] for row in rows.tolist()], dtype=np.int64)
        return _bm25(words, rows, lengths, len(of_source), sum(of_source.values()))

    # -- reading ------------------------------------------------------------------------------------------------

    def _cut(self, text: str) -> list[str]:
        return self.cutter.stems([text])[0].split()

    def _places(self, term: str, *, or_longer: bool = False) -> Places:
        """The places of a term, or of all that begin with it. Those of frequent words come in most questions."""
        if or_longer:
            return shape_places(term, self._read_postings("term >= %s and term < %s", term, term + LAST))
        return self.heads.snapshot.word_tables.get(
            "place", term, lambda term: shape_places(term, self._read_postings("term = %s", term))
        )

    def _read_postings(self, is_term: str, *named: str) -> bytes:
        rows = self.connection.execute(
            f"select places from posting where tenant = %s and block = any(%s) and {is_term} order by block",  # noqa: S608  clauses of our own
            (self.tenant, self.heads.blocks, *named),
            binary=True,
        )
        return b"".join(places for (places,) in rows)

    def _read(self, rows: Rows, scores: NDArray[np.float64]) -> Iterator[Candidate]:
        texts = {
            row: (source, context, passage)
            for row, source, context, passage in self.connection.execute(
                "select id, source, context, passage from passage where tenant = %s and id = any(%s)",
                (self.tenant, encode_array(rows.tolist())),
            )
        }
        for row, score in zip(rows.tolist(), scores.tolist(), strict=False):
            source, context, passage = texts[row]
            yield row, source, self.heads.snapshot.sources[source].path, score, context, passage


def encode_array(numbers: Iterable[int]) -> str:
    """Whole numbers as PostgreSQL reads an array; psycopg asks each element of a list for its type."""
    return "{" + ",".join(map(str, numbers)) + "}"


def _bm25(
    phrases: Sequence[Weighted], rows: Rows, lengths: NDArray[np.int64], texts: int, words: int
) -> NDArray[np.float64]:
    """The sum over phrases of idf times their saturated weighted count, for some rows (n,); higher is better."""
    scores = np.zeros(len(rows))
    mean = words / max(texts, 1)
    for phrase in phrases:
        idf = max(float(np.log((texts - len(phrase.rows) + 0.5) / (len(phrase.rows) + 0.5))), LEAST_IDF)
        _, at, of_phrase = np.intersect1d(rows, phrase.rows, assume_unique=True, return_indices=True)
        counts = phrase.counts[of_phrase]
        scores[at] += idf * counts * (K1 + 1) / (counts + K1 * (1 - B + B * lengths[at] / max(mean, 1e-9)))
    return scores
