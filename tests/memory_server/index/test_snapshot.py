"""Cosines and token matches that are the same to the last bit wherever a passage's rows stand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from memory_server.embedding.engine import Vectors
from memory_server.index.snapshot import Passages, Snapshot
from memory_server.search.ranking.scoring import token_matches

DIMENSIONS = 384
SEEDS = st.integers(0, 2**32 - 1)


def unit_rows(chance: np.random.Generator, count: int) -> Vectors:
    rows = chance.standard_normal((count, DIMENSIONS)) + 0.3
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def snapshot_of(vectors: Vectors) -> Snapshot:
    """A passage a vector, in their order."""
    places = np.arange(len(vectors))
    nothing = np.zeros(len(vectors), dtype=np.int64)
    passages = Passages(places, nothing, nothing, nothing, places, nothing, nothing, nothing, nothing)
    return Snapshot(passages, {}, vectors, np.zeros((0, DIMENSIONS // 8), np.uint8))


def cosines_of(vectors: Vectors, questions: Vectors) -> NDArray[np.float32]:
    return snapshot_of(vectors).exact_cosines(questions, np.arange(len(vectors)))


@given(SEEDS, st.integers(1, 70), st.integers(1, 5))
def test_an_exact_cosine_does_not_depend_on_where_its_row_stands(seed: int, count: int, asked: int) -> None:
    chance = np.random.default_rng(seed)
    vectors, questions = unit_rows(chance, count), unit_rows(chance, asked)
    order = chance.permutation(count)

    found = cosines_of(vectors, questions)

    assert np.array_equal(cosines_of(vectors[order], questions), found[:, order])
    assert np.array_equal(cosines_of(vectors[-1:], questions[:1]), found[:1, -1:])


@pytest.mark.parametrize("count", [0, 1, 4_095, 4_096, 4_097, 9_000])
def test_exact_cosines_are_those_of_64_bits(count: int) -> None:
    chance = np.random.default_rng(2)
    vectors, questions = unit_rows(chance, count), unit_rows(chance, 3)

    found = cosines_of(vectors, questions)

    assert found == pytest.approx(questions.astype(np.float64) @ vectors.T.astype(np.float64), abs=2e-6)


@given(SEEDS, st.lists(st.integers(1, 9), min_size=1, max_size=20))
def test_a_token_match_does_not_depend_on_where_its_passage_stands(seed: int, sizes: list[int]) -> None:
    chance = np.random.default_rng(seed)
    question = unit_rows(chance, 5)
    passages = [chance.integers(0, 256, (size, DIMENSIONS // 8), dtype=np.uint8) for size in sizes]
    order = chance.permutation(len(passages))

    found = matches(question, passages)

    assert np.array_equal(matches(question, [passages[place] for place in order]), found[:, order])


def test_a_token_match_is_the_best_cosine_with_the_signs() -> None:
    chance = np.random.default_rng(3)
    question, packed = unit_rows(chance, 4), chance.integers(0, 256, (6, DIMENSIONS // 8), dtype=np.uint8)
    signs = np.where(np.unpackbits(packed, axis=1), 1.0, -1.0) / np.sqrt(DIMENSIONS)

    assert matches(question, [packed]) == pytest.approx((question @ signs.T).max(axis=1, keepdims=True), abs=1e-5)


def matches(question: Vectors, passages: list[NDArray[np.uint8]]) -> Vectors:
    starts = np.cumsum([0, *(len(rows) for rows in passages[:-1])])
    return token_matches(question, np.concatenate(passages), starts)
