"""Passages for a question, from the indices as they are now: what a search proposes, and what is read of it.

Which layers may answer is said by the question's filter. Nothing here decides what is shown: that is the way through
`pipeline.py`.
"""

import datetime as dt
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memory_server.document import ChunkId, Hit, Layer, Reason, SourceHead, SourcePath
from memory_server.embedding.engine import Embedded, Vectors
from memory_server.fields import fold, unknown_values
from memory_server.index.expression import Term
from memory_server.index.keywords import MAX_CANDIDATES, Keywords
from memory_server.index.ledger import StoredChunk, build_embedded_text
from memory_server.index.snapshot import Snapshot
from memory_server.index.typed_lines import TypedLine, fold_text
from memory_server.language.times import Time, find_named_times, find_times, time_alone
from memory_server.language.words import STATEMENT_STOP_WORDS, Stemmer
from memory_server.layers.mif import parse_date
from memory_server.layers.sessions import cut_id8, parse_id8
from memory_server.search.literal import LiteralMatch, Where, find_literal, holds
from memory_server.search.question import Question
from memory_server.search.ranking.arms import KeywordArm, Nearest, Scope, SemanticArm, WordScores, make_scope
from memory_server.search.ranking.ranking import ARM_HITS, Ranker, Ranking
from memory_server.search.ranking.scoring import (
    CALIBRATION_NOTE,
    OF_MODELS,
    RERANK_WEIGHTS,
    Calibration,
    Likeness,
    Scores,
    read_calibration,
    token_weights,
)
from memory_server.search.ranking.terms import IndexedTerm, question_terms

SparseScores = Callable[[Snapshot, str], Vectors]

DEFAULT_LAYERS = (Layer.TOPIC, Layer.SESSION)
TYPICAL_SCORE = 10.0  # of a good hit; maps fused scores to 0 to 1 for display
READ_AT_ONCE = 50  # passages; the first few are often enough
MOST_FOLLOWING = 20  # passages behind one that are read with it; replies of a line each are that short
AS_WRITTEN, IN_ANOTHER_CASE = "as written", "in another case"  # how a literal match stands there
SPREAD = "all words in the file, not in one passage"
OF_FADED = "of a session that faded"
OF_TIME = "of the time that is asked for"
ALIKE = 3.5  # scaled cosine from which two passages answer the same question


@dataclass(frozen=True, slots=True)
class RankedPassage:
    """A passage on its way to becoming a hit."""

    row: int  # of the ledger
    score: float  # 0 to 1
    why: tuple[Reason, ...]
    parts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourcesOf:
    """The sources of some layers, as a container: a search looks up few of many thousands."""

    sources: Mapping[int, SourceHead]
    layers: Sequence[Layer]

    def __contains__(self, number: object) -> bool:
        found = self.sources.get(number) if isinstance(number, int) else None
        return found is not None and found.layer in self.layers


class Stored(Protocol):
    """What is read of sources and passages; `Ledger` says what each method gives."""

    @property
    def keywords(self) -> Keywords: ...

    def chunks(self, rows: Sequence[int]) -> Mapping[int, StoredChunk]: ...

    def find_chunk(self, source: int, line: int) -> StoredChunk | None: ...

    def last_reply(self, chunk: StoredChunk) -> StoredChunk | None: ...

    def rows_by_id(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, int]: ...

    def note(self, key: str) -> str: ...


class Searched(Protocol):
    """What can be searched: the indices of files, that of stretches, or those of a team."""

    @property
    def ledger(self) -> Stored: ...

    def snapshot(self) -> Snapshot: ...

    def nearest_rows(
        self, layers: Sequence[Layer], sources: Collection[int] | None, question: Vectors, limit: int
    ) -> list[int] | None:
        """Rows near a question (d,), of some layers and of these sources, None for all; None where the caller scans."""


class Retriever:
    """Finds and reads passages of topics, sessions and references, or stretches of what was said."""

    def __init__(
        self,
        indices: Searched,
        stemmer: Stemmer,
        embed_query: Callable[[str], Embedded],
        weights: Mapping[str, float] = RERANK_WEIGHTS,
        *,
        today: dt.date | None = None,
        sparse: SparseScores | None = None,
    ):
        """`weights`: of the features by which the best passages are reranked. `today` tells what holds no longer.

        `sparse`: what a sparse model scores for all passages of a snapshot, where one is on.
        """
        self._sparse = sparse
        self._today = today
        self._indices = indices
        self._weights = weights
        self._stemmer = stemmer
        self._embed_query = embed_query
        # one question is ranked for layers together and for topics alone, and many stages ask for its words
        self._compared = lru_cache(maxsize=1)(self._compare)
        self.terms = lru_cache(maxsize=1)(self._find_terms)
        self._chunks: dict[int, StoredChunk] = {}  # that were read for this question; stages look at the same ones
        self.snapshot = indices.snapshot()

    @cached_property
    def calibration(self) -> Calibration:
        return read_calibration(self._indices.ledger.note(CALIBRATION_NOTE))

    # -- what a search proposes ---------------------------------------------------------------------------------

    def literal(self, question: Question, limit: int) -> list[RankedPassage]:
        """Passages that hold every word, as written before in another case before inside longer words."""
        scope = self._scope(question)
        sources = scope.sources if scope.sources is not None else SourcesOf(self.snapshot.sources, scope.layers)
        where = Where(self._indices.ledger.keywords, sources, partial(self._shortest, scope))
        matches = find_literal(where, question.expression, limit)
        matches.sort(key=lambda match: (match.is_spread, match.closeness, self._rank(match)))
        return [replace(literal_candidate(match), parts={"bm25": match.bm25}) for match in matches]

    def _shortest(self, scope: Scope, rows: Sequence[int]) -> list[int]:
        """The shortest of some passages that may answer, equals in the order of reading."""
        passages = self.snapshot.passages
        places = passages.places(rows)
        places = places[scope.mask[places]]
        order = np.lexsort((self.snapshot.reading_order(places), passages.lengths[places]))
        return list(map(int, passages.rows[places[order[:MAX_CANDIDATES]]]))

    def near(self, question: Question, limit: int) -> list[RankedPassage]:
        """Passages by meaning alone."""
        found = self._nearest(Likeness(self.snapshot, self._embed_query(question.text)), self._scope(question), limit)
        rows, scaled = self.snapshot.passages.rows[found.places], self.calibration.meaning(found.scores)
        return [
            RankedPassage(
                int(row),
                scale_score(3 * score),
                (Reason("semantic", f"{score:.1f} above the unrelated"),),
                {"meaning": score},
            )
            for row, score in zip(rows, map(float, scaled), strict=True)
        ]

    def make_ranker(self, question: Question, weights: Mapping[str, float] | None = None) -> tuple[Ranker, Nearest]:
        """What the words of a question say of every passage, within a ranker for them, and what is near in meaning.

        `weights`: others than those of this retriever.
        """
        likeness, words, of_tokens = self._compared(question.text)
        scope, weights = self._scope(question), weights or self._weights
        calibration, scale = self.calibration, self.calibration.sparse
        sparse = scale(self._sparse(self.snapshot, question.text)) if self._sparse and scale else None
        times = self.times(question.text)
        ranker = Ranker(likeness, calibration, scope, words, of_tokens, weights, sparse, times)
        return ranker, self._nearest(likeness, scope, ARM_HITS)

    def _compare(self, text: str) -> tuple[Likeness, WordScores, Scores]:
        """What a text says of every passage, by likeness and by words, and the weight of each of its tokens."""
        embedded, keywords = self._embed_query(text), self._indices.ledger.keywords
        terms = self.terms(text)
        words = KeywordArm(keywords).find(self.snapshot, terms)
        return Likeness(self.snapshot, embedded), words, token_weights(embedded, terms, len(self.snapshot.passages))

    def list_candidates(self, ranking: Ranking, most: int | None = None) -> list[RankedPassage]:
        """The passages of a ranking as candidates, `most` of them."""
        rows = self.snapshot.passages.rows[ranking.places[:most]].tolist()
        scores, columns = ranking.scores[:most].tolist(), [one[:most].tolist() for one in ranking.features.values()]
        parts = [dict(zip(ranking.features, values, strict=True)) for values in zip(*columns, strict=True)]
        return [
            RankedPassage(row, scale_score(score), _recall_reasons(of_row), of_row)
            for row, score, of_row in zip(rows, scores, parts, strict=True)
        ]

    def texts(self, ranking: Ranking, limit: int) -> list[str]:
        """What models read of the best passages of a ranking."""
        rows = [int(row) for row in self.snapshot.passages.rows[ranking.places[:limit]]]
        found = self._read_rows(rows)
        return [build_embedded_text(chunk.context, chunk.passage) if chunk else "" for chunk in found]

    def rows_holding(self, question: Question, lines: Sequence[TypedLine]) -> list[int]:
        """The passages of compressed sessions in which such lines stand, of those that may answer."""
        if not lines:
            return []
        allowed = self._scope(question).sources
        sources = {
            parse_id8(source.path): number
            for number, source in self.snapshot.sources.items()
            if source.layer is Layer.SESSION and (allowed is None or number in allowed)
        }
        passages: dict[int, list[tuple[int, str]]] = {}  # of a source, folded once for all of its lines
        rows = []
        for line in lines:
            source, wanted = sources.get(cut_id8(line.session_id), 0), fold_text(line.text)
            if source not in passages:
                stored = self._indices.ledger.keywords.read_passages(source)
                passages[source] = [(row, fold_text(text)) for row, _, text in stored]
            rows += [row for row, text in passages[source] if wanted in text][:1]
        return rows

    def times(self, text: str) -> tuple[Time, ...]:
        """The times that a text asks for; without a day of today those alone that are named."""
        return tuple(find_times(text, self._today) if self._today else find_named_times(text))

    def of_time(self, question: Question) -> list[RankedPassage] | None:
        """The first passage of each session of a time, the newest first; None where a question asks for more."""
        is_of = time_alone(question.text, self._today) if self._today else None
        if is_of is None:
            return None
        allowed, passages = self._scope(question).sources, self.snapshot.passages
        dated = [
            (source.date or dt.date.min, source.path, number)
            for number, source in self.snapshot.sources.items()
            if source.layer is Layer.SESSION and number in passages.source_bounds and any(map(is_of, list_days(source)))
        ]
        numbers = [number for *_, number in sorted(dated, reverse=True) if allowed is None or number in allowed]
        rows = [int(passages.rows[passages.source_bounds[number][0]]) for number in numbers]
        return [RankedPassage(row, 1.0, (Reason("time", OF_TIME),)) for row in rows]

    def _find_terms(self, text: str) -> Sequence[IndexedTerm]:
        """The words of a text, each with the number of passages that hold it."""
        return question_terms(self._indices.ledger.keywords, self._stemmer, text, self.snapshot.word_tables)

    def stems(self, words: Sequence[str]) -> Sequence[str]:
        """The stem of each word, as the index keeps it."""
        return self._stemmer.stems(words)

    def projects(self) -> frozenset[str]:
        """The names of projects that sources have."""
        return self.snapshot.projects

    def may_answer(self, question: Question) -> bool:
        """Whether the question's filter lets any passage through."""
        return bool(self._scope(question).mask.any())

    def unknown_values(self, question: Question) -> list[str]:
        """A sentence for every value of the question's filter that no source has."""
        return list(unknown_values(self.snapshot.sources.values(), question.filter))

    def _nearest(self, likeness: Likeness, scope: Scope, limit: int) -> Nearest:
        return SemanticArm(self._indices.nearest_rows).find(likeness, scope, limit)

    def _scope(self, question: Question) -> Scope:
        wanted = question.filter
        has_more = not replace(wanted, layers=()).is_empty  # layers alone need no list of sources, and keep the graph
        sources = frozenset(wanted.find_allowed(self.snapshot.sources)) if has_more else None
        return make_scope(self.snapshot, wanted.layers or DEFAULT_LAYERS, sources)

    def _rank(self, match: LiteralMatch) -> int:
        source = self.snapshot.sources.get(match.source)
        return source.layer.rank if source else len(Layer) + 1

    # -- what is read of it -------------------------------------------------------------------------------------

    def read(self, candidates: Sequence[RankedPassage]) -> Iterator[tuple[RankedPassage, StoredChunk]]:
        """Candidates with what is stored of them, without those that are gone since then; a few are read at a time."""
        for start in range(0, len(candidates), READ_AT_ONCE):
            part = candidates[start : start + READ_AT_ONCE]
            for candidate, chunk in zip(part, self._read_rows([one.row for one in part]), strict=True):
                if chunk and chunk.source in self.snapshot.sources:
                    yield candidate, chunk

    def _read_rows(self, rows: Sequence[int]) -> list[StoredChunk | None]:
        """What is stored in some rows; None where a row is gone."""
        self._chunks |= self._indices.ledger.chunks([row for row in rows if row not in self._chunks])
        return [self._chunks.get(row) for row in rows]

    def following(self, chunk: StoredChunk, chars: int) -> Iterator[StoredChunk]:
        """The passages behind one in its source, until there are so many characters; each is read when asked for."""
        for row in range(chunk.row + 1, chunk.row + 1 + MOST_FOLLOWING):
            (after,) = self._read_rows([row]) if chars > 0 else (None,)
            if after is None or after.source != chunk.source:
                return
            chars -= len(after.passage)
            yield after

    def read_source(self, chunk: StoredChunk, most: int) -> list[StoredChunk]:
        """All passages of a passage's source, in their order; none where there are more than `most`."""
        first = chunk.row - chunk.ordinal
        near = self._read_rows(range(first, first + most + 1))
        own = [one for one in near if one and one.source == chunk.source]
        return own if len(own) <= most else []

    def find_passage(self, source: int, line: int) -> StoredChunk | None:
        """The passage of a source that begins with a line or turn; None where none does."""
        return self._indices.ledger.find_chunk(source, line)

    def last_reply(self, chunk: StoredChunk) -> StoredChunk | None:
        """Where the last reply begins to the person, with whose words a stretch begins; None where there is none."""
        return self._indices.ledger.last_reply(chunk)

    def hits(self, candidates: Sequence[RankedPassage], unless: Sequence[Term] = ()) -> list[Hit]:
        """Candidates as hits in their order, without those that hold one of some terms, or are gone since then."""
        return [
            make_hit(candidate, chunk, self.snapshot.sources[chunk.source], self._today)
            for candidate, chunk in self.read(candidates)
            if not any(holds(term, f"{chunk.context}\n{chunk.passage}") for term in unless)
        ]

    def outside(self, paths: Collection[SourcePath]) -> frozenset[SourcePath]:
        """Those of some sources that do not hold today."""
        if self._today is None or not paths:
            return frozenset()
        sources = (source for source in self.snapshot.sources.values() if source.path in paths)
        return frozenset(source.path for source in sources if source.interval.outside(self._today))

    def alikeness(self, hits: Sequence[Hit]) -> Callable[[Hit, Hit], bool]:
        """Tells whether two of these hits say so much the same that they answer the same question.

        What it compares is worked out once for all of them: every pair is asked for.
        """
        numbers, vectors = self._read_vectors(hits)
        is_alike = self.calibration.meaning(vectors @ vectors.T) >= ALIKE

        def alike(first: Hit, second: Hit) -> bool:
            one, other = numbers.get(first.chunk), numbers.get(second.chunk)
            return one is not None and other is not None and bool(is_alike[one, other])

        return alike

    def match_words(self, text: str, hit: Hit) -> Mapping[str, float]:
        """How near a hit's passage comes to each word of a text that tells something, by stem, 0 to 1.

        Of a word it is the mean over its tokens of their best match, above that of an unrelated one. Nothing for a
        passage that has no vectors, or stands in another index.
        """
        row = self._indices.ledger.rows_by_id([hit.chunk]).get(hit.chunk)
        places = self.snapshot.passages.places([] if row is None else [row])
        likeness, *_ = self._compared(text)
        if not len(places) or not len(likeness.question.spans):
            return {}
        background, found = self.calibration.background, {}
        above = (likeness.matches(places)[:, 0] - background) / (1 - background)
        content = [term for term in self.terms(text) if not term.is_stop]
        for term in [one for one in content if one.word.casefold() not in STATEMENT_STOP_WORDS] or content:
            of_term = [
                place
                for place, (first, last) in enumerate(likeness.question.spans)
                if term.first <= first and last <= term.last
            ]
            if of_term:
                found[term.stem] = float(above[of_term].mean())
        return found

    def deciding(self, question: Question, hits: Sequence[Hit]) -> list[Hit]:
        """The topic passages that answer the same as some hits, for each hit the one that comes nearest.

        A topic that belongs to no project decides in all of them.
        """
        wanted = question.filter.projects
        topics = {
            number
            for number, source in self.snapshot.sources.items()
            if not (wanted and source.project) or fold(source.project) in wanted
        }
        mask = make_scope(self.snapshot, (Layer.TOPIC,), frozenset(topics)).mask
        places = np.flatnonzero(mask & (self.snapshot.passages.vectors >= 0))
        numbers, vectors = self._read_vectors(hits)
        if not len(places) or not len(vectors):
            return []
        of_topics = self.snapshot.read_vectors(places)
        scaled = self.calibration.meaning(vectors @ of_topics.T)
        found: dict[int, float] = {}
        for hit in hits:
            number = numbers.get(hit.chunk)
            if number is not None and scaled[number].max() >= ALIKE:
                found.setdefault(int(self.snapshot.passages.rows[places[scaled[number].argmax()]]), hit.score)
        return self.hits(
            [RankedPassage(row, score, (Reason("precedence", "decides"),)) for row, score in found.items()]
        )

    def _read_vectors(self, hits: Sequence[Hit]) -> tuple[Mapping[ChunkId, int], NDArray[np.float32]]:
        """The vectors of those hits that have one, (n, d), and which row is whose."""
        names = {row: name for name, row in self._indices.ledger.rows_by_id([hit.chunk for hit in hits]).items()}
        passages = self.snapshot.passages
        places = passages.places(list(names))
        places = places[passages.vectors[places] >= 0]
        numbers = {names[int(row)]: number for number, row in enumerate(passages.rows[places])}
        return numbers, self.snapshot.read_vectors(places)

    def any_passage(self) -> tuple[ChunkId, str] | None:
        """Some passage of the searched layers that has a vector, with its text; None where there is none."""
        mask = make_scope(self.snapshot, DEFAULT_LAYERS, None).mask & (self.snapshot.passages.vectors >= 0)
        if not mask.any():
            return None
        row = int(self.snapshot.passages.rows[int(mask.argmax())])
        (chunk,) = self._read_rows([row])
        return (chunk.id, re.sub(r"[^\w\s]", " ", chunk.passage)[:500]) if chunk else None


def make_hit(candidate: RankedPassage, chunk: StoredChunk, source: SourceHead, today: dt.date | None = None) -> Hit:
    """A candidate with what is stored of its passage and source."""
    return Hit(
        chunk=chunk.id,
        passage=chunk.passage,
        path=source.path,
        lines=chunk.lines,
        layer=source.layer,
        title=source.title,
        date=source.date,
        score=candidate.score,
        why=candidate.why,
        type=source.kind,
        tags=source.tags,
        parts=candidate.parts,
        outside=source.interval.outside(today) if today else "",
        standing=chunk.standing,
        settled_at=chunk.settled_at,
        project=source.project,
    )


def list_days(session: SourceHead) -> Iterator[dt.date]:
    """The days from a session's first, with which the name of its file begins, to its last; none without a date."""
    if session.date:
        first = min(parse_date(session.path.rpartition("/")[2][:10]) or session.date, session.date)
        yield from (session.date - dt.timedelta(back) for back in range((session.date - first).days + 1))


def scale_score(score: float) -> float:
    """A fused score as 0 to 1."""
    return max(0.0, score) / (max(0.0, score) + TYPICAL_SCORE)


def literal_candidate(match: LiteralMatch, spread: str = SPREAD) -> RankedPassage:
    """A match of the exact search. `spread`: what is said where no single passage holds all words."""
    manner = (AS_WRITTEN, IN_ANOTHER_CASE, "inside longer words", "as the beginning of a hash")[match.closeness]
    return RankedPassage(
        match.row, 1.0 - 0.2 * match.closeness, (Reason("literal", spread if match.is_spread else manner),)
    )


def _recall_reasons(parts: Mapping[str, float]) -> tuple[Reason, ...]:
    words = max(parts["words_near"], parts["words_source"])
    reasons = [Reason("keyword", f"{words:.2f}")] if words > 0 else []
    reasons.append(Reason("semantic", f"{max(parts['meaning'], parts['meaning_near']):.1f}"))
    reasons += [Reason(name, f"{parts[name]:.1f}") for name in OF_MODELS if name in parts]
    if parts.get("time"):
        reasons.append(Reason("time", "of a time that is named"))
    if "tokens" in parts:
        reasons.append(Reason("rerank", f"{max(parts['tokens'], parts['tokens_near']):.1f}"))
    return tuple(reasons)
