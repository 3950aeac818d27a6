"""The three searches, from a parsed query to an answer.

`exact` takes the words at their word; `by_meaning` asks the semantic arm alone; `recall` asks both arms, fuses their
scores and looks a second time at the best. All three end the same way: one hit a source, the higher layer first where
two answer the same, and a note that says what to do where nothing was found.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from memory_server.document import Answer, ChunkId, Hit, Layer, Reason
from memory_server.embedding.engine import Embedded
from memory_server.index.indices import Indices
from memory_server.index.ledger import StoredChunk, StoredSource
from memory_server.search.arms import KeywordArm, Scope, SemanticArm, WordScores, scope_of
from memory_server.search.calibration import read_calibration
from memory_server.search.literal import LiteralMatch, find_literal, holds, is_identifier
from memory_server.search.precedence import with_precedence
from memory_server.search.query import Query, Term
from memory_server.search.ranking import ARM_HITS, FLOOR, Ranker, Ranking
from memory_server.search.second_look import token_weights
from memory_server.search.terms import Stemmer, question_terms

DEFAULT_LAYERS = (Layer.TOPIC, Layer.SESSION)
MEANING_FLOOR = 1.2  # scaled cosine of the best passage below which nothing is near in meaning
TYPICAL_SCORE = 6.0  # of a good hit; maps fused scores to 0 to 1 for display
ALIKE = 3.5  # scaled cosine from which two passages answer the same question
MAX_MORE_LINES = 4
FEW_PASSAGES = 30  # of a tiny memory, whose scale says little

NOTHING_EXACT = "Nothing holds all of these words. Try recall, which needs only some of them or their meaning."
NOTHING_NEAR = "Nothing in this memory is near that in meaning. Try search_exact for a name or number."
NOTHING_KNOWN = "Nothing in this memory answers that. Try other words, or search_exact for a name or number."
NOTHING_ALLOWED = "No source passes these filters. Loosen them, or ask memory_status what there is."
EMPTY = "This memory holds nothing that is indexed yet. Write a topic, then run `oneiros reindex`."
CUT = "The query was cut to its first 10,000 characters."


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage on its way to becoming a hit."""

    row: int  # of the ledger
    score: float  # 0 to 1
    why: tuple[Reason, ...]
    parts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourcesOf:
    """The sources of some layers, as a container: a search looks up few of many thousands."""

    sources: Mapping[int, StoredSource]
    layers: Sequence[Layer]

    def __contains__(self, number: object) -> bool:
        found = self.sources.get(number) if isinstance(number, int) else None
        return found is not None and found.layer in self.layers


class Searcher:
    """Answers queries on the indices as they are now."""

    def __init__(self, indices: Indices, stemmer: Stemmer, embed_query: Callable[[str], Embedded]):
        self._indices = indices
        self._stemmer = stemmer
        self._embed_query = embed_query
        self.snapshot = indices.snapshot()

    def exact(self, query: Query, limit: int, per_source: int) -> Answer:
        """Passages that hold every word, as written before in another case before inside longer words."""
        candidates = self._literal(query, limit * max(per_source, 5))
        terms = tuple(term.text for term in query.terms())
        return self._answer(query, candidates, limit, per_source, terms, nothing=NOTHING_EXACT, is_exact=True)

    def _literal(self, query: Query, limit: int) -> list[Candidate]:
        scope = self._scope(query)
        sources = scope.sources if scope.sources is not None else SourcesOf(self.snapshot.sources, scope.layers)
        matches = find_literal(self._indices.ledger.connection, query.expression, sources, limit)
        matches.sort(key=lambda match: (match.is_spread, match.closeness, self._rank(match)))
        return [
            Candidate(match.row, 1.0 - 0.2 * match.closeness, (_literal_reason(match),), {"bm25": match.bm25})
            for match in matches
        ]

    def by_meaning(self, query: Query, limit: int, per_source: int) -> Answer:
        """Passages near in meaning."""
        scope, question = self._scope(query), self._embed_query(query.text)
        found = self._semantic.find(self.snapshot, question.vector, scope, limit * max(per_source, 5))
        scaled = read_calibration(self._indices.ledger).meaning(found.scores)
        if not len(scaled) or (scaled[0] < MEANING_FLOOR and len(self.snapshot.passages) > FEW_PASSAGES):
            return self._answer(query, [], limit, per_source, (), nothing=NOTHING_NEAR)
        rows = self.snapshot.passages.rows[found.places]
        candidates = [
            Candidate(
                int(row),
                _display(3 * score),
                (Reason("semantic", f"{score:.1f} above the unrelated"),),
                {"meaning": score},
            )
            for row, score in zip(rows, map(float, scaled), strict=True)
        ]
        return self._answer(query, candidates, limit, per_source, (), nothing=NOTHING_NEAR)

    def recall(
        self, query: Query, limit: int, per_source: int, *, second_look: bool = True, floor: float = FLOOR
    ) -> Answer:
        """Passages by words and meaning together; none where the memory does not answer the question.

        What is asked in nothing but identifiers is answered first by the passages that hold them letter by letter.
        """
        words, ranking = self.ranked(query, second_look)
        literal = self._literal(query, limit) if all(map(is_identifier, query.terms())) else []
        is_silent = ranking.confidence < floor and len(self.snapshot.passages) > FEW_PASSAGES and not literal
        named = {candidate.row for candidate in literal}
        others = [] if is_silent else [one for one in self._recalled(ranking) if one.row not in named]
        candidates = [*literal, *others]
        looked_up = tuple(term.word for term in words.terms)
        answer = self._answer(query, candidates, limit, per_source, looked_up, nothing=NOTHING_KNOWN)
        return replace(answer, confidence=ranking.confidence)

    def ranked(self, query: Query, second_look: bool = True) -> tuple[WordScores, Ranking]:
        """What recall's answer is made of: the question's words as looked up, and the passages in order."""
        question = self._embed_query(query.text)
        connection, scope = self._indices.ledger.connection, self._scope(query)
        terms = question_terms(connection, self._stemmer, query.text, self.snapshot.word_tables)
        words = KeywordArm(connection).find(self.snapshot, terms)
        weights = token_weights(question, terms, len(self.snapshot.passages))
        calibration = read_calibration(self._indices.ledger)
        semantic = self._semantic.find(self.snapshot, question.vector, scope, ARM_HITS)
        ranker = Ranker(self.snapshot, calibration, scope, question, words, weights)
        return words, ranker.rank(semantic, second_look=second_look)

    def _recalled(self, ranking: Ranking) -> list[Candidate]:
        rows = self.snapshot.passages.rows[ranking.places]
        candidates = []
        for place, (row, score) in enumerate(zip(rows, ranking.scores, strict=True)):
            parts = {name: float(values[place]) for name, values in ranking.features.items()}
            candidates.append(Candidate(int(row), _display(float(score)), _recall_reasons(parts), parts))
        return candidates

    def any_passage(self) -> tuple[ChunkId, str] | None:
        """Some passage of the searched layers that has a vector, with its text; None where there is none."""
        mask = scope_of(self.snapshot, DEFAULT_LAYERS, None).mask & (self.snapshot.passages.vectors >= 0)
        if not mask.any():
            return None
        row = int(self.snapshot.passages.rows[int(mask.argmax())])
        chunk = self._indices.ledger.chunks([row]).get(row)
        return (chunk.id, re.sub(r"[^\w\s]", " ", chunk.passage)[:500]) if chunk else None

    @property
    def _semantic(self) -> SemanticArm:
        return SemanticArm(self._indices.nearest, self._indices.rows_of_ids)

    def _scope(self, query: Query) -> Scope:
        layers = query.filter.layers or DEFAULT_LAYERS
        sources = None if query.filter.is_empty else frozenset(self._indices.ledger.allowed_sources(query.filter))
        return scope_of(self.snapshot, layers, sources)

    def _rank(self, match: LiteralMatch) -> int:
        source = self.snapshot.sources.get(match.source)
        return source.layer.rank if source else len(Layer) + 1

    def _answer(
        self,
        query: Query,
        candidates: Sequence[Candidate],
        limit: int,
        per_source: int,
        terms: tuple[str, ...],
        *,
        nothing: str,
        is_exact: bool = False,
    ) -> Answer:
        """Candidates as hits: excluded words kept out, a few a source, precedence applied."""
        if not candidates:
            return Answer((), self._note(query, nothing), terms)
        chunks = self._indices.ledger.chunks([candidate.row for candidate in candidates])
        found = [
            (candidate, chunk)
            for candidate in candidates
            if (chunk := chunks.get(candidate.row)) and chunk.source in self.snapshot.sources  # not since then
        ]
        if not is_exact and (excluded := query.excluded()):  # the exact search has seen to it itself
            found = [(candidate, chunk) for candidate, chunk in found if not _holds_any(excluded, chunk)]
        hits = grouped([self._hit(candidate, chunk) for candidate, chunk in found], per_source)
        if not hits:
            return Answer((), self._note(query, nothing), terms)
        hits = hits[: 3 * limit]
        ordered = with_precedence(hits, self._alikeness(hits), self.snapshot.superseded)
        scores = {chunk.id: candidate.parts for candidate, chunk in found}
        return Answer(ordered[:limit], CUT if query.is_cut else "", terms, scores=scores)

    def _hit(self, candidate: Candidate, chunk: StoredChunk) -> Hit:
        source = self.snapshot.sources[chunk.source]
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
        )

    def _note(self, query: Query, nothing: str) -> str:
        if len(self.snapshot.passages) == 0:
            return EMPTY
        if not query.filter.is_empty and not self._scope(query).mask.any():
            return NOTHING_ALLOWED
        return f"{CUT} {nothing}" if query.is_cut else nothing

    def _alikeness(self, hits: Sequence[Hit]) -> Callable[[Hit, Hit], bool]:
        """Tells whether two of these hits say so much the same that they answer the same question.

        What it compares is worked out once for all of them: every pair is asked for.
        """
        names = {row: name for name, row in self._indices.ledger.rows_by_id([hit.chunk for hit in hits]).items()}
        passages = self.snapshot.passages
        places = passages.places(list(names))
        places = places[passages.vectors[places] >= 0]
        numbers = {names[int(row)]: number for number, row in enumerate(passages.rows[places])}
        vectors = np.array(self.snapshot.vectors[passages.vectors[places]])
        is_alike = read_calibration(self._indices.ledger).meaning(vectors @ vectors.T) >= ALIKE

        def alike(first: Hit, second: Hit) -> bool:
            one, other = numbers.get(first.chunk), numbers.get(second.chunk)
            return one is not None and other is not None and bool(is_alike[one, other])

        return alike


def grouped(hits: Sequence[Hit], per_source: int) -> list[Hit]:
    """At most `per_source` hits of one source, each naming the lines of those left out; one hit a line."""
    kept: dict[str, list[int]] = {}
    shown: list[Hit] = []
    for hit in hits:
        places = kept.setdefault(hit.path, [])
        if any(shown[place].lines == hit.lines for place in places):
            continue  # another piece of the same long line
        if len(places) < per_source:
            places.append(len(shown))
            shown.append(hit)
        elif per_source == 1 and len(shown[places[0]].more_lines) < MAX_MORE_LINES:
            shown[places[0]] = replace(shown[places[0]], more_lines=(*shown[places[0]].more_lines, hit.lines))
    return shown


def _holds_any(terms: Sequence[Term], chunk: StoredChunk) -> bool:
    return any(holds(term, f"{chunk.context}\n{chunk.passage}") for term in terms)


def _display(score: float) -> float:
    """A fused score as 0 to 1."""
    return max(0.0, score) / (max(0.0, score) + TYPICAL_SCORE)


def _literal_reason(match: LiteralMatch) -> Reason:
    manner = ("as written", "in another case", "inside longer words")[match.closeness]
    return Reason("literal", "all words in the file, not in one passage" if match.is_spread else manner)


def _recall_reasons(parts: Mapping[str, float]) -> tuple[Reason, ...]:
    words = max(parts["words_near"], parts["words_source"])
    reasons = [Reason("keyword", f"{words:.2f}")] if words > 0 else []
    reasons.append(Reason("semantic", f"{max(parts['meaning'], parts['meaning_near']):.1f}"))
    if "tokens" in parts:
        reasons.append(Reason("second look", f"{max(parts['tokens'], parts['tokens_near']):.1f}"))
    return tuple(reasons)
