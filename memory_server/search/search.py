"""The three searches, from a parsed query to an answer.

`exact` takes the words at their word; `by_meaning` asks the semantic arm alone; `recall` asks both arms, fuses their
scores and looks a second time at the best. All three end the same way: one hit a source, the higher layer first where
two answer the same, and a note that says what to do where nothing was found.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memory_server.document import Answer, Hit, Layer, Reason
from memory_server.embedding.engine import Embedded
from memory_server.index.indices import Indices
from memory_server.index.ledger import StoredChunk
from memory_server.search.arms import SemanticArm
from memory_server.search.literal import LiteralMatch, find_literal
from memory_server.search.query import Query

DEFAULT_LAYERS = (Layer.TOPIC, Layer.SESSION)
POOL = 60


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage on its way to becoming a hit."""

    row: int
    score: float
    why: tuple[Reason, ...]


class Searcher:
    """Answers one query on the indices as they are now."""

    def __init__(self, indices: Indices, embed_query: Callable[[str], Embedded]):
        self._indices = indices
        self._embed_query = embed_query
        self._snapshot = indices.snapshot()

    def exact(self, query: Query, limit: int, per_source: int) -> Answer:
        layers, sources = self._scope(query)
        allowed = sources if sources is not None else self._sources_in(layers)
        matches = find_literal(self._indices.ledger.connection, query.expression, allowed, limit * 5)
        candidates = [Candidate(match.row, 1.0, (_literal_reason(match),)) for match in matches]
        return self._answer(candidates, limit, per_source, query)

    def by_meaning(self, query: Query, limit: int, per_source: int) -> Answer:
        layers, sources = self._scope(query)
        question = self._embed_query(query.text)
        arm = SemanticArm(self._indices.nearest, self._indices.rows_of_ids)
        found = arm.find(self._snapshot, question.vector, layers, sources, limit * 5)
        rows = self._snapshot.passages.rows[found.places]
        candidates = [
            Candidate(int(row), float(score), (Reason("semantic", f"cosine {score:.2f}"),))
            for row, score in zip(rows, found.scores, strict=True)
        ]
        return self._answer(candidates, limit, per_source, query)

    recall = by_meaning

    def _scope(self, query: Query) -> tuple[Sequence[Layer], set[int] | None]:
        """Which layers may answer, and which sources: None where a filter allows every source of these layers."""
        layers = query.filter.layers or DEFAULT_LAYERS
        if query.filter.is_empty:
            return layers, None
        return layers, self._indices.ledger.allowed_sources(query.filter)

    def _sources_in(self, layers: Sequence[Layer]) -> set[int]:
        return {number for number, source in self._snapshot.sources.items() if source.layer in layers}

    def _answer(self, candidates: Sequence[Candidate], limit: int, per_source: int, query: Query) -> Answer:
        chunks = self._indices.ledger.chunks([candidate.row for candidate in candidates])
        kept: dict[int, list[Hit]] = {}
        order: list[tuple[int, int]] = []
        for candidate in candidates:
            chunk = chunks.get(candidate.row)
            if chunk is None:
                continue
            hits = kept.setdefault(chunk.source, [])
            if len(hits) < per_source and all(hit.lines != chunk.lines for hit in hits):
                order.append((chunk.source, len(hits)))
                hits.append(self._hit(candidate, chunk))
        return Answer(tuple(kept[source][place] for source, place in order[:limit]))

    def _hit(self, candidate: Candidate, chunk: StoredChunk) -> Hit:
        source = self._snapshot.sources[chunk.source]
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


def _literal_reason(match: LiteralMatch) -> Reason:
    manner = ("as written", "in another case", "inside longer words")[match.closeness]
    return Reason("literal", "all words, spread over the file" if match.is_spread else manner)
