"""What a memory's indices say, as values that compare equal when they say the same; and an engine for many builds."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from memory_server.document import Layer
from memory_server.embedding.engine import Embedded, Vectors
from memory_server.embedding.model import ModelFiles
from memory_server.embedding.onnx_engine import unit_rows
from memory_server.memory import Memory
from memory_server.search.ranking.scoring import CALIBRATION_NOTE
from tests.memories import searches_of

PIECE = re.compile(r"\w+|[^\w\s]")
DIMENSIONS = 384
SAME_SCORE = 1e-6  # of scores from 0 to 1: the last bits of a 32-bit cosine depend on where its row stands


class WordEngine:
    """Vectors made of the words alone, a thousand texts a second.

    Where the bookkeeping of builds is tested and not what is relevant: the same words give the same vector, others
    another one. It is no embedder, and no test of finding uses it.
    """

    def __init__(self, files: ModelFiles):
        assert files.card.dimensions == DIMENSIONS

    @property
    def dimensions(self) -> int:
        return DIMENSIONS

    def embed(self, texts: Sequence[str], *, as_query: bool = False) -> list[Embedded]:
        return [self._embedded(text) for text in texts]

    def rest(self) -> None:
        pass

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(PIECE.findall(text)) for text in texts]

    def close(self) -> None:
        pass

    def _embedded(self, text: str) -> Embedded:
        spans = tuple(match.span() for match in PIECE.finditer(text))
        rows = [_word_vector(text[first:last].casefold()) for first, last in spans]
        tokens = np.stack(rows) if rows else np.zeros((0, DIMENSIONS), np.float32)
        return Embedded(unit_rows((tokens.sum(axis=0) + _word_vector(""))[None])[0], tokens, spans)


@cache  # a run asks for the same few hundred words again and again
def _word_vector(word: str) -> Vectors:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "little")
    row: Vectors = unit_rows(np.random.default_rng(seed).standard_normal((1, DIMENSIONS)).astype(np.float32))[0]
    return row


def state_of(memory: Memory, questions: Sequence[str]) -> dict[str, Any]:
    """What the indices hold and what they answer. Takes the root for this process."""
    assert memory.indices.own()
    connection = memory.indices.ledger.connection
    select = "select chunk_id, path, ordinal, first_line, last_line, context, passage, extra, keys from chunk"
    chunks = connection.execute(f"{select} join source on source.id = chunk.source order by path, ordinal").fetchall()
    return {
        "sources": sorted([path, state.content_hash] for path, state in memory.indices.ledger.sources().items()),
        "chunks": [list(row) for row in chunks],
        "words": [list(row) for row in connection.execute("select term, doc, cnt from stem_counts order by term")],
        "semantic": semantic_ids(memory),
        "differences": memory.indices.count_wrong(10),
        "integrity": memory.indices.ledger.integrity_problems(),
        "counts": dict(memory.indices.ledger.counts()),
        "problems": [str(problem) for problem in memory.indices.ledger.problems()],
        "scales": memory.indices.ledger.note(CALIBRATION_NOTE).partition("values")[2],
        "answers": [_answer(memory, question) for question in questions],
    }


def semantic_ids(memory: Memory) -> list[str]:
    """Every id that is found by meaning."""
    return sorted(name for layer in Layer for name in memory.indices.ledger.list_confirmed_keys(layer))


def _answer(memory: Memory, question: str) -> list[list[list[object]]]:
    searches = searches_of(memory)
    return [[[hit.chunk, hit.path, hit.score] for hit in search(question).hits] for search in searches]


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """The parts in which two states of `state_of` differ."""
    return [key for key in one.keys() | other.keys() if not alike(one.get(key), other.get(key))]


def alike(one: object, other: object) -> bool:
    """Whether two states or answers are the same, scores up to SAME_SCORE."""
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= SAME_SCORE
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(alike(*pair) for pair in zip(one, other, strict=True))
    return one == other
