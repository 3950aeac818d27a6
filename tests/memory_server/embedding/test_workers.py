"""The pool of workers: which cores, pinned, every text once and at its place."""

import os
import random
import threading
from collections.abc import Sequence

import numpy as np
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_server.embedding import workers
from memory_server.embedding.engine import Embedded
from memory_server.embedding.model import ModelFiles
from memory_server.embedding.onnx_engine import OnnxEngine
from memory_server.embedding.workers import MAX_BATCH, MAX_BATCH_TOKENS, NICENESS, WorkerPlan, WorkerPool, usable_cores

CORE = usable_cores()[0]
PIN_THREAD = WorkerPool._pin_thread  # which the other tests run without


class NotingEngine:
    """Gives each text its length as a vector, and notes who asked and with how much."""

    dimensions = 1

    def __init__(self, fail_on: str = "(nothing)") -> None:
        self.batches: list[list[str]] = []
        self.threads: dict[int, tuple[set[int], int]] = {}
        self._fail_on = fail_on

    def embed(self, texts: Sequence[str], *, as_query: bool = False) -> list[Embedded]:
        if self._fail_on in texts:
            raise MemoryError(self._fail_on)
        self.batches.append(list(texts))
        if hasattr(os, "sched_getaffinity"):
            thread = threading.get_native_id()
            self.threads[thread] = (os.sched_getaffinity(0), os.getpriority(os.PRIO_PROCESS, thread))
        return [Embedded(np.array([len(text)], np.float32), np.zeros((0, 1), np.float32), ()) for text in texts]

    def rest(self) -> None:
        pass

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text) for text in texts]

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("share", "usable", "cores"),
    [
        (0.5, [0, 1, 2, 3], (2, 3)),
        (1.0, [0, 1, 2, 3], (0, 1, 2, 3)),
        (0.01, [0, 1, 2, 3], (3,)),
        (0.5, [4], (4,)),
        (0.5, [1, 5, 9], (5, 9)),
    ],
)
def test_a_share_of_the_cores_takes_the_last_ones_and_at_least_one(
    monkeypatch: pytest.MonkeyPatch, share: float, usable: list[int], cores: tuple[int, ...]
) -> None:
    monkeypatch.setattr(workers, "usable_cores", lambda: usable)

    assert WorkerPlan.of_share(share).cores == cores


@pytest.mark.parametrize(("listed", "cores"), [((2, 0), (2, 0)), ((7, 2), (2,)), ((7,), (2, 3)), ((), (2, 3))])
def test_listed_cores_are_taken_as_far_as_they_may_be_used(
    monkeypatch: pytest.MonkeyPatch, listed: tuple[int, ...], cores: tuple[int, ...]
) -> None:
    monkeypatch.setattr(workers, "usable_cores", lambda: [0, 1, 2, 3])

    assert WorkerPlan.of_settings(0.5, listed).cores == cores


@settings(max_examples=25)
@given(st.lists(st.integers(0, 9_000).map("x".__mul__), max_size=40))
def test_every_text_comes_back_once_at_its_own_place(texts: list[str]) -> None:
    with WorkerPool(NotingEngine(), WorkerPlan((CORE, CORE))) as pool:
        found = dict(pool.embed(texts))

    assert {place: int(one.vector[0]) for place, one in found.items()} == {
        place: len(text) for place, text in enumerate(texts)
    }


@settings(max_examples=25)
@given(st.lists(st.integers(0, 9_000).map("x".__mul__), min_size=1, max_size=40))
def test_batches_hold_texts_of_like_length_longest_first_and_are_bounded(texts: list[str]) -> None:
    engine = NotingEngine()
    with WorkerPool(engine, WorkerPlan((CORE,))) as pool:
        list(pool.embed(texts))

    lengths = [len(text) for batch in engine.batches for text in batch]
    assert lengths == sorted(lengths, reverse=True)
    for batch in engine.batches:
        assert len(batch) <= MAX_BATCH
        assert len(batch) == 1 or len(batch) * max(map(len, batch)) <= MAX_BATCH_TOKENS


def test_texts_are_put_together_by_the_tokens_that_the_model_reads_of_them() -> None:
    """Not by their characters: of a long text the model reads its beginning, and a word may be one token or twenty."""

    class CountingEngine(NotingEngine):
        def count_tokens(self, texts: Sequence[str]) -> list[int]:
            return [min(30, len(text.split())) for text in texts]

    engine = CountingEngine()
    texts = [f"{'x' * 40} {number}" for number in range(8)] + [f"{number} y " * 10 for number in range(8)]
    random.Random(5).shuffle(texts)

    with WorkerPool(engine, WorkerPlan((CORE,))) as pool:
        found = dict(pool.embed(texts))

    assert [{text.split()[-1] == "y" for text in batch} for batch in engine.batches] == [{True}, {False}]
    assert [found[place].vector[0] for place in range(16)] == [len(text) for text in texts]


def test_a_vector_is_the_same_whatever_it_was_batched_with(real_model: ModelFiles) -> None:
    engine = OnnxEngine(real_model)
    texts = [f"{number} " + "the relay listens on a port " * (number % 7) for number in range(30)]

    with WorkerPool(engine, WorkerPlan((CORE,))) as pool:
        found = dict(pool.embed(texts))

    for place, text in enumerate(texts):
        assert np.allclose(found[place].vector, engine.embed([text])[0].vector, atol=2e-6)
    engine.close()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="threads cannot be pinned here")
def test_a_worker_is_pinned_to_one_core_and_niced_and_the_asking_thread_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(WorkerPool, "_pin_thread", PIN_THREAD)
    before = (os.sched_getaffinity(0), os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
    engine = NotingEngine()

    with WorkerPool(engine, WorkerPlan((CORE,))) as pool:
        list(pool.embed(["x"] * 40))

    assert list(engine.threads.values()) == [({CORE}, NICENESS)]
    assert (os.sched_getaffinity(0), os.getpriority(os.PRIO_PROCESS, threading.get_native_id())) == before


def test_an_error_of_the_engine_reaches_whoever_asked() -> None:
    texts = ["good"] * 20 + ["bad"]

    with WorkerPool(NotingEngine(fail_on="bad"), WorkerPlan((CORE,))) as pool, pytest.raises(MemoryError, match="bad"):
        list(pool.embed(texts))


def test_a_pool_that_is_left_early_ends() -> None:
    engine = NotingEngine()
    with WorkerPool(engine, WorkerPlan((CORE,))) as pool:
        next(pool.embed(["x"] * 200))

    assert len(engine.batches) < 200 / MAX_BATCH


def resident_mb() -> float:
    return psutil.Process().memory_info().rss / 1e6


def test_a_run_gives_back_the_memory_that_its_batches_took(real_model: ModelFiles) -> None:
    engine = OnnxEngine(real_model)
    long = ["word " * 250] * MAX_BATCH
    before = resident_mb()

    with WorkerPool(engine, WorkerPlan((CORE,))) as pool:
        list(pool.embed(long))
        taken = resident_mb() - before
    left = resident_mb() - before
    engine.close()

    assert taken > 100, "the batch took too little to tell"
    assert left < taken / 2
