"""Vectors that were paid for once are found again, each under its own text."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_server.embedding.vector_cache import CachedRow, VectorCache, text_hash

DIMENSIONS, TOKEN_BYTES = 4, 2


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[VectorCache]:
    opened = VectorCache(tmp_path / "model", DIMENSIONS, TOKEN_BYTES)
    yield opened
    opened.close()


def append(cache: VectorCache, *texts: str) -> None:
    """Keeps for each text a vector and tokens that tell it."""
    vectors = np.array([[len(text), *map(ord, text[:3].ljust(3))] for text in texts], np.float32)
    cache.append([text_hash(text) for text in texts], vectors, [tokens_of(text) for text in texts])


def tokens_of(text: str) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    return np.full((len(text) % 5, TOKEN_BYTES), len(text) % 256, np.uint8)


def held(cache: VectorCache, texts: Sequence[str]) -> list[str]:
    """Those of the texts whose vector and tokens are the ones that `append` gave them."""
    found = []
    for text in texts:
        row = cache.find([text_hash(text)])[text_hash(text)]
        vector = cache.vectors()[row.vector].tolist()
        tokens = cache.tokens()[row.first_token : row.first_token + row.tokens].tolist()
        if (vector, tokens) == ([len(text), *map(ord, text[:3].ljust(3))], tokens_of(text).tolist()):
            found.append(text)
    return found


def test_what_was_kept_is_found_after_opening_again(cache: VectorCache, tmp_path: Path) -> None:
    append(cache, "abc", "defg")
    cache.close()

    again = VectorCache(tmp_path / "model", DIMENSIONS, TOKEN_BYTES)

    assert len(again) == 2
    assert held(again, ["abc", "defg"]) == ["abc", "defg"]
    again.close()


def test_an_unknown_text_is_not_found(cache: VectorCache) -> None:
    append(cache, "abc")

    assert cache.find([text_hash("abd")]) == {}


def test_an_empty_cache_has_no_rows(cache: VectorCache) -> None:
    assert (len(cache), cache.vectors().shape, cache.tokens().shape) == (0, (0, 4), (0, 2))


def test_a_text_that_is_known_keeps_its_row(cache: VectorCache) -> None:
    append(cache, "abc")

    append(cache, "new", "abc", "new")

    assert len(cache) == 2
    assert cache.find([text_hash("abc")]) == {text_hash("abc"): CachedRow(vector=0, first_token=0, tokens=3)}
    assert held(cache, ["abc", "new"]) == ["abc", "new"]


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=st.lists(st.lists(st.text("abcdef", min_size=1, max_size=9), min_size=1, max_size=6), max_size=6))
def test_any_batches_are_found_text_by_text(tmp_path_factory: pytest.TempPathFactory, batches: list[list[str]]) -> None:
    folder = tmp_path_factory.mktemp("cache")
    for batch in batches:
        cache = VectorCache(folder, DIMENSIONS, TOKEN_BYTES)
        append(cache, *batch)
        cache.close()

    cache = VectorCache(folder, DIMENSIONS, TOKEN_BYTES)
    texts = {text for batch in batches for text in batch}
    assert len(cache) == len(texts)
    assert held(cache, sorted(texts)) == sorted(texts)
    cache.close()


def test_bytes_that_a_kill_left_without_a_key_are_overwritten(cache: VectorCache, tmp_path: Path) -> None:
    append(cache, "abc")
    for name in ("vectors.f32", "tokens.bin"):
        with (tmp_path / "model" / name).open("ab") as stream:
            stream.write(b"\xff" * 37)

    append(cache, "defg")

    assert held(cache, ["abc", "defg"]) == ["abc", "defg"]


def test_keys_of_rows_that_the_file_lost_are_forgotten(cache: VectorCache, tmp_path: Path) -> None:
    append(cache, "abc")
    append(cache, "defg")
    with (tmp_path / "model" / "vectors.f32").open("r+b") as stream:
        stream.truncate(DIMENSIONS * 4 + 3)

    assert cache.drop_lost() == 1

    assert held(cache, ["abc"]) == ["abc"]
    append(cache, "defg")
    assert held(cache, ["abc", "defg"]) == ["abc", "defg"]
