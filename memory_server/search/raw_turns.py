"""The search of layer 3: archived sessions by the words of their turns, each with its best passage.

A session scores by its words as a whole and by its best stretch of neighbouring turns, as fused with what layer 2 says
of the same session by `joined`. Asked for by `layer:raw` or `include_raw`, or where the first answers are weak.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from memory_server.document import Answer, Hit, Layer, LineRange, Reason
from memory_server.index.ledger import StoredChunk, StoredSource
from memory_server.index.raw import RawIndex
from memory_server.index.speech import Spoken
from memory_server.search.arms import KeywordArm
from memory_server.search.literal import LiteralMatch, find_literal
from memory_server.search.question import Question
from memory_server.search.terms import Stemmer, question_terms

NEAR_WEIGHT = 1.0  # of the best stretch of turns beside the session as a whole
MEANING_WEIGHT = 0.2  # of what was said, by meaning, where it has vectors; in the middle of what does no harm
COVERED_WEIGHT = 1.0  # of the share of the question that one passage holds
RAW_WEIGHT = 3.0  # of what the turns say beside what the compressed session says; see benchmarks/RESULTS.md
TYPICAL_RAW = 2.0  # the score of a good session; maps scores to 0 to 1
WEAK = 0.55  # a first answer below it: right ones score .59 and more, unrelated ones up to .54
SURE_COVERED = 0.7  # of a question nobody asked the turns; below, most of what is found merely shares a word
NEIGHBOUR_CHARS = 160  # of the passages before and after, shown as context
ID8 = re.compile(r"-(?P<id8>[A-Za-z0-9]{1,8})(?:-r\d+)?\.md\Z")


@dataclass(frozen=True, slots=True)
class RawMatch:
    """A session that the words of a question lead to."""

    source: int
    row: int  # its best passage
    score: float  # 0 and up; of a session as a whole, its best stretch, and what one passage covers
    parts: Mapping[str, float]


class RawSearcher:
    """Answers queries on the raw index as it is now."""

    def __init__(
        self, index: RawIndex, stemmer: Stemmer, meaning: Callable[[str], Mapping[int, Spoken]] = lambda _: {}
    ):
        """`meaning`: for each source how near it comes to a text, where what was said has vectors."""
        self._index = index
        self._stemmer = stemmer
        self._meaning = meaning

    def exact(self, question: Question, limit: int) -> list[Hit]:
        """Sessions that hold every word, with the passage that does."""
        with self._index.guard:
            connection = self._index.ledger.connection
            sources, wanted = set(self._allowed(question)), limit * max(5, question.per_source)
            in_parts = len(question.terms()) == 1  # a lone identifier is worth reading all turns, a sentence is not
            matches = find_literal(connection, question.expression, sources, wanted, in_parts=in_parts)
            matches.sort(key=lambda match: (match.is_spread, match.closeness))
            found = self._hits([(m.row, 1.0 - 0.2 * m.closeness, _literal(m)) for m in matches])
        return _few_of_each(found, question.per_source)[:limit]

    def recall(self, question: Question, limit: int, *, least_covered: float = 0.0) -> list[Hit]:
        """Sessions by the words of their turns, best first.

        `least_covered`: the share of the question, by rarity, that one stretch of turns must hold.
        """
        with self._index.guard:
            matches = [match for match in self.matches(question) if match.parts["covered"] >= least_covered][:limit]
            scores = [match.score / (match.score + TYPICAL_RAW) for match in matches]
            reasons = [Reason("turns", f"{match.score:.2f}") for match in matches]
            rows = [match.row for match in matches]
            return self._hits(list(zip(rows, scores, reasons, strict=True)))

    def matches(self, question: Question) -> list[RawMatch]:
        """Every session that holds a word of the question, best first."""
        connection, snapshot = self._index.ledger.connection, self._index.snapshot()
        table = snapshot.passages
        terms = question_terms(connection, self._stemmer, question.text)
        words = KeywordArm(connection).find(snapshot, terms)
        allowed = self._allowed(question)
        held = words.places[table.allowed(allowed, (Layer.RAW,))[words.places]]
        near, covered = words.near_at(held), words.covered_at(held) * words.known
        order = np.lexsort((held, -(NEAR_WEIGHT * near + COVERED_WEIGHT * covered)))
        spoken = self._meaning(question.text)
        found = []
        for source, first in zip(*np.unique(table.sources[held][order], return_index=True), strict=True):
            place = order[first]
            whole = float(words.of_source[source])
            parts = {"source": whole, "near": float(near[place]), "covered": float(covered[place])}
            score = whole + NEAR_WEIGHT * parts["near"] + COVERED_WEIGHT * parts["covered"]
            row = int(table.rows[held[place]])
            if (said := spoken.get(int(source))) and said.score > 0:
                parts["meaning"] = said.score
                score += MEANING_WEIGHT * said.score
            found.append(RawMatch(int(source), row, score, parts))
        found += self._by_meaning_alone(spoken, {match.source for match in found}, allowed)
        return sorted(found, key=lambda match: (-match.score, match.source))

    @staticmethod
    def _by_meaning_alone(
        spoken: Mapping[int, Spoken], known: Collection[int], allowed: Collection[int]
    ) -> Iterator[RawMatch]:
        """The sessions that hold no word of the question but come near to it."""
        for source, said in spoken.items():
            if source not in known and source in allowed and said.score > 0:
                parts = {"source": 0.0, "near": 0.0, "covered": 0.0, "meaning": said.score}
                yield RawMatch(source, said.row, MEANING_WEIGHT * said.score, parts)

    def _allowed(self, question: Question) -> frozenset[int]:
        return frozenset(self._index.ledger.allowed_sources(replace(question.filter, layers=())))

    def _hits(self, found: Sequence[tuple[int, float, Reason]]) -> list[Hit]:
        """Rows with score and reason as hits; those that another process removed meanwhile are left out."""
        chunks, sources = self._index.ledger.chunks([row for row, _, _ in found]), self._index.snapshot().sources
        return [
            self._hit(chunks[row], sources[chunks[row].source], score, why)
            for row, score, why in found
            if row in chunks and chunks[row].source in sources
        ]

    def _hit(self, chunk: StoredChunk, source: StoredSource, score: float, why: Reason) -> Hit:
        return Hit(
            chunk=chunk.id,
            passage=self._with_neighbours(chunk),
            path=source.path,
            lines=chunk.lines,
            layer=Layer.RAW,
            title=source.title,
            date=source.date,
            score=score,
            why=(why,),
            type=source.kind,
            tags=source.tags,
        )

    def _with_neighbours(self, chunk: StoredChunk) -> str:
        """A passage with the end of the one before it and the beginning of the one after."""
        rows = self._index.ledger.connection.execute(
            "select ordinal, passage from chunk where source = ? and ordinal in (?, ?)",
            (chunk.source, chunk.ordinal - 1, chunk.ordinal + 1),
        )
        beside = {int(ordinal): " ".join(str(passage).split()) for ordinal, passage in rows}
        before, after = beside.get(chunk.ordinal - 1, ""), beside.get(chunk.ordinal + 1, "")
        lines = [f"… {before[-NEIGHBOUR_CHARS:]}" if before else "", chunk.passage]
        return "\n".join(filter(None, [*lines, f"{after[:NEIGHBOUR_CHARS]} …" if after else ""]))


def joined(answer: Answer, raw: Sequence[Hit], limit: int) -> Answer:
    """An answer of the layers above with that of the turns, one hit a session.

    Both scores of a session add up; its statement stands for it where there is one, since it is the shorter way in.
    A session that only its turns speak of stands as a raw hit.
    """
    of_turns = {_key_of_raw(hit): hit for hit in reversed(raw)}
    ranked: list[tuple[float, Hit]] = []
    for hit in answer.hits:
        own = of_turns.pop(_key_of_session(hit), None) if hit.layer is Layer.SESSION else None
        more = RAW_WEIGHT * _unbounded(own.score) if own else 0.0
        why = (*hit.why, *own.why) if own else hit.why
        ranked.append((_unbounded(hit.score) + more, replace(hit, why=why)))
    ranked += [(RAW_WEIGHT * _unbounded(hit.score), hit) for hit in of_turns.values()]
    ranked.sort(key=lambda pair: (-pair[0], pair[1].layer.rank, pair[1].path))
    top = [replace(hit, score=score / (1 + score)) for score, hit in ranked[:limit]]
    return replace(answer, hits=tuple(top), note="" if top and not answer.hits else answer.note)


def appended(answer: Answer, more: Sequence[Hit], limit: int, note: str) -> Answer:
    """An answer with hits of a lower layer behind its own, without sessions that it has."""
    known = {_key_of_session(hit) for hit in answer.hits if hit.layer is Layer.SESSION}
    fresh = [hit for hit in more if hit.layer is not Layer.RAW or _key_of_raw(hit) not in known]
    hits = (*answer.hits, *fresh)[:limit]
    return replace(answer, hits=hits, note=note if fresh and hits else answer.note)


def _key_of_raw(hit: Hit) -> tuple[str, object]:
    identity = re.sub(r"[^A-Za-z0-9]", "", hit.path.rpartition("/")[2])
    return identity[:8], hit.date


def _key_of_session(hit: Hit) -> tuple[str, object]:
    match = ID8.search(hit.path)
    return (match["id8"] if match else hit.path), hit.date


def _unbounded(score: float) -> float:
    """A score of 0 to 1 as odds, in which scores of two searches add up."""
    return score / max(1.0 - score, 1e-6)


def _few_of_each(hits: Sequence[Hit], per_source: int) -> list[Hit]:
    counts: dict[tuple[str, LineRange | None], int] = {}
    kept = []
    for hit in hits:
        if counts.get((hit.path, None), 0) < per_source and (hit.path, hit.lines) not in counts:
            counts[hit.path, hit.lines] = 1
            counts[hit.path, None] = counts.get((hit.path, None), 0) + 1
            kept.append(hit)
    return kept


def _literal(match: LiteralMatch) -> Reason:
    manner = ("as written", "in another case", "inside longer words")[match.closeness]
    return Reason("literal", "all words, spread over the session" if match.is_spread else manner)
