"""No constant depends on the model: cosines squeezed into a high, narrow band, as bge's are, change no answer."""

import dataclasses
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from memory_server.document import Answer, Certainty
from memory_server.embedding.catalogue import Catalogue
from memory_server.embedding.engine import Embedded, Engine, Vectors
from memory_server.embedding.model import ModelFiles
from memory_server.memory import Memory
from memory_server.search.ranking.ranking import FLOOR, SILENCE
from tests.conftest import MakeEngine
from tests.garden import write_garden
from tests.memories import names, new_root, open_memory, recall, search_memory

SHARE = 0.15  # a cosine c becomes SHARE * c + (1 - SHARE): 0.2 -> 0.88
DULLNESS = 2.0  # length of what is chance in a vector, beside 1

ANSWERED = (
    "which port does the relay use",
    "coffee machine",
    "when are invoices numbered",
    "東京都のサーバー",
    "why was the dashboard slow",
    "the heater in the basement",
    "wages of the employees",
    "relay layer:session",
)
UNANSWERED = (
    "what is the boiling point of ethanol",
    "who won the world cup in 1974",
    "how do bees communicate",
    "capital of Mongolia",
    "best recipe for lasagna",
)


class NarrowBandEngine:
    """An engine whose vectors have one more dimension that is the same in all of them, and little of the others."""

    def __init__(self, engine: Engine):
        self._engine = engine

    @property
    def dimensions(self) -> int:
        return self._engine.dimensions + 1

    def embed(self, texts: Sequence[str], *, as_query: bool = False) -> list[Embedded]:
        embedded = self._engine.embed(texts, as_query=as_query)
        return [Embedded(_squeezed(one.vector[None])[0], _squeezed(one.tokens), one.spans) for one in embedded]

    def rest(self) -> None:
        pass

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._engine.count_tokens(texts)

    def close(self) -> None:
        self._engine.close()


def _squeezed(rows: Vectors) -> Vectors:
    constant = np.full((len(rows), 1), np.sqrt(1 - SHARE))
    return np.concatenate([np.sqrt(SHARE) * rows, constant], axis=1).astype(np.float32)


@pytest.fixture(scope="module")
def narrow(
    tmp_path_factory: pytest.TempPathFactory, real_model: ModelFiles, make_engine: MakeEngine
) -> Iterator[Memory]:
    """The shared memory under a model with a high, narrow band of cosines."""
    card = dataclasses.replace(real_model.card, name="narrow", dimensions=real_model.card.dimensions + 1)
    files = dataclasses.replace(real_model, card=card)
    root = new_root(tmp_path_factory.mktemp("narrow") / "memory")
    write_garden(root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Catalogue, "find", lambda self, name="": files)
        memory = open_memory(root, lambda model: NarrowBandEngine(make_engine(model)))
    with memory:
        memory.reindex()
        yield memory


def test_the_cosines_of_the_narrow_model_lie_high_and_close(narrow: Memory) -> None:
    snapshot = narrow.indices.snapshot()
    places = np.arange(len(snapshot.passages))

    cosines = snapshot.cosines(narrow.embed_query("coffee machine").vector, places)

    assert cosines.min() > 0.8
    assert cosines.max() - cosines.min() < 0.15


@pytest.mark.parametrize("question", ANSWERED)
def test_a_narrow_band_of_cosines_gives_the_same_hits(garden: Memory, narrow: Memory, question: str) -> None:
    for search in (recall, search_memory):
        expected, answer = search(garden, question), search(narrow, question)

        assert names(answer) == names(expected)
        assert [hit.score for hit in answer.hits] == pytest.approx([hit.score for hit in expected.hits], abs=2e-3)
        assert [(hit.decides, hit.replaced_by) for hit in answer.hits] == [
            (hit.decides, hit.replaced_by) for hit in expected.hits
        ]


@pytest.mark.parametrize("question", UNANSWERED)
def test_a_narrow_band_of_cosines_gives_the_same_silence(garden: Memory, narrow: Memory, question: str) -> None:
    for search in (recall, search_memory):
        assert search(narrow, question).hits == search(garden, question).hits == ()


def test_a_narrow_band_of_cosines_finds_the_best_topic_by_meaning(narrow: Memory) -> None:
    assert names(search_memory(narrow, "a machine that makes hot drinks"))[0] == "kitchen"


class DullEngine(NarrowBandEngine):
    """An engine whose vectors hold more of chance than of their text, so that what is related is hardly nearer."""

    @property
    def dimensions(self) -> int:
        return self._engine.dimensions

    def embed(self, texts: Sequence[str], *, as_query: bool = False) -> list[Embedded]:
        embedded = self._engine.embed(texts, as_query=as_query)
        return [
            Embedded(_dulled(one.vector[None], text)[0], _dulled(one.tokens, text), one.spans)
            for text, one in zip(texts, embedded, strict=True)
        ]


def _dulled(rows: Vectors, text: str) -> Vectors:
    chance = np.random.default_rng(zlib.crc32(text.encode())).standard_normal(rows.shape)
    mixed = rows + DULLNESS * chance / np.sqrt(rows.shape[1])
    return np.asarray(mixed / np.linalg.norm(mixed, axis=1, keepdims=True), dtype=np.float32)


def test_a_model_that_tells_little_apart_is_not_silent_for_it(
    tmp_path: Path, make_engine: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, unanswered = ask_dull(tmp_path / "now", make_engine)

    monkeypatch.setattr("memory_server.search.ranking.calibration.MOST_STRETCH", 1.0)
    before, _ = ask_dull(tmp_path / "before", make_engine)

    unread = ANSWERED.index("東京都のサーバー")  # found by its words alone, which no scale moves
    assert now.pop(unread).confidence == before.pop(unread).confidence
    assert all(one.confidence > other.confidence for one, other in zip(now, before, strict=True))
    # one question of seven, which has no word of its statement, stays lost: a passage is one statement of few tokens
    assert min(answer.confidence for answer in before) < SILENCE
    assert sum(answer.confidence > SILENCE for answer in now) >= len(now) - 1
    assert max(answer.confidence for answer in unanswered) < FLOOR
    # which port the relay uses is told by a topic; it was a perhaps
    assert now[0].hits[0].decides and now[0].hits[0].certainty is Certainty.LIKELY
    assert before[0].hits[0].certainty is Certainty.PERHAPS


def ask_dull(folder: Path, make_engine: MakeEngine) -> tuple[list[Answer], list[Answer]]:
    """The answers of a dull engine: to what the memory holds, and to what it does not."""
    root = new_root(folder)
    write_garden(root)
    with open_memory(root, lambda model: DullEngine(make_engine(model))) as memory:
        memory.reindex()
        answered, unanswered = (
            [recall(memory, question) for question in questions] for questions in (ANSWERED, UNANSWERED)
        )
        return answered, unanswered
