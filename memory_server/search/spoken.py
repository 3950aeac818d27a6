"""What was said in sessions, as passages of an answer: a digest leads to a session, its turns hold the answer.

A passage is the stretch of turns that fits the question best and what followed it, since a question is settled by what
comes after it. What the digest of a session says does not change the order: it was measured, and helps nowhere.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from memory_server.document import Answer, Hit, Layer, LineRange, Standing
from memory_server.index.ledger import StoredChunk
from memory_server.search.question import Question, Search
from memory_server.search.raw_turns import session_key
from memory_server.search.retrieval import Candidate, Retriever, hit_of

SPOKEN = {"tokens": 1.0, "meaning": 0.3, "words_near": 1.0}  # what reranks stretches; see benchmarks/RESULTS.md
SPOKEN_FLOOR = 2.4  # confidence below which no stretch is shown; the layers above have their own
PASSAGE_CHARS = 850  # of a stretch with what followed it
WHOLE = 3  # passages that an answer shows whole
ANSWER_CHARS = 2_600  # of all passages of an answer


def reads_spoken(question: Question) -> bool:
    """Whether the answer may stand in what was said: recall of sessions.

    Types have lines of their own; where turns are asked for, what tools returned is ranked with what was said.
    """
    layers, asks_else = question.filter.layers, question.types or question.asks_turns
    return question.search is Search.RECALL and not asks_else and (not layers or Layer.SESSION in layers)


def spoken_hits(retriever: Retriever, candidates: Sequence[Candidate], question: Question) -> list[Hit]:
    """Stretches, best first, as hits with what followed each; none shows what another one shows already.

    What was dropped stands behind what took its place, which is read where the ranking did not bring it.
    """
    shown: set[tuple[int, int]] = set()
    hits: list[Hit] = []
    for candidate, found in retriever.read(candidates):
        if len(hits) >= question.limit:
            break
        for chunk in filter(None, (_replacement(retriever, found), found)):
            if (chunk.source, chunk.ordinal) not in shown:
                parts = [chunk, *_following(retriever, chunk)]
                shown |= {(part.source, part.ordinal) for part in parts}
                hit = hit_of(candidate, chunk, retriever.snapshot.sources[chunk.source])
                hits.append(replace(hit, passage=_joined(parts), lines=_lines(parts)))
    return hits[: question.limit]


def _replacement(retriever: Retriever, chunk: StoredChunk) -> StoredChunk | None:
    """What took the place of a stretch that was dropped."""
    is_dropped = chunk.standing is Standing.DROPPED
    return retriever.beginning_with(chunk.source, chunk.settled_at) if is_dropped else None


def _following(retriever: Retriever, chunk: StoredChunk) -> list[StoredChunk]:
    """What followed a stretch, as much as is shown with it; of one that was dropped, up to where it was."""
    after = retriever.following(chunk, PASSAGE_CHARS - len(chunk.passage))
    if chunk.standing is not Standing.DROPPED:
        return after
    return list(takewhile(lambda part: part.lines.first < chunk.settled_at, after))


def _joined(parts: Sequence[StoredChunk]) -> str:
    """A stretch and what followed it, cut at the end of a word."""
    text = "\n".join(part.passage for part in parts)
    if len(text) <= PASSAGE_CHARS:
        return text
    cut = text[: PASSAGE_CHARS - 2]
    return f"{cut[: max(cut.rfind(' '), PASSAGE_CHARS // 2)].rstrip()} …"


def _lines(chunks: Sequence[StoredChunk]) -> LineRange:
    return LineRange(chunks[0].lines.first, max(chunk.lines.last for chunk in chunks))


def with_spoken(answer: Answer, spoken: Sequence[Hit], limit: int) -> Answer:
    """An answer of the layers above in which what was said stands for the sessions that it was said in.

    Topics that decide or precede every session go first, the others behind the passages that are shown whole. What
    replaced a session is said of what was said in it.
    """
    replaced = {session_key(hit): hit.replaced_by for hit in answer.hits if hit.replaced_by}
    marked = [replace(hit, replaced_by=replaced.get(session_key(hit))) for hit in spoken]
    first = [hit for place, hit in enumerate(answer.hits) if hit.decides or _are_topics(answer.hits[: place + 1])]
    known = {session_key(hit) for hit in spoken}
    rest = [hit for hit in answer.hits if hit not in first and session_key(hit) not in known]
    topics = [hit for hit in rest if hit.layer is Layer.TOPIC]
    others = [hit for hit in rest if hit.layer is not Layer.TOPIC]
    hits = [*first, *marked[:WHOLE], *topics, *marked[WHOLE:], *others][:limit]
    return replace(answer, hits=within_budget(hits), note="" if hits else answer.note)


def within_budget(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Hits with ANSWER_CHARS characters of passages in all: those beyond are places to read on, without a passage."""
    kept, room = [], ANSWER_CHARS
    for hit in hits:
        kept.append(hit if len(hit.passage) <= room else replace(hit, passage=""))
        room -= len(hit.passage)
    return tuple(kept)


def _are_topics(hits: Sequence[Hit]) -> bool:
    return all(hit.layer is Layer.TOPIC for hit in hits)
