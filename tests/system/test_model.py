"""A change of model: beside the indices in use, resumable, and switched when complete."""

import dataclasses
import datetime as dt
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from memory_server.embedding.catalogue import Catalogue, find_packaged_model
from memory_server.embedding.engine import Embedded
from memory_server.embedding.model import ModelFiles, ModelKind
from memory_server.embedding.onnx_engine import OnnxEngine
from memory_server.embedding.workers import Interrupted
from memory_server.memory import Memory
from memory_server.settings import PersonSettings, read_memory_settings
from tests.memories import root_at, search_memory

OTHER = "bge-small-en-v1.5"


class Mirrored:
    """Another model: the real vectors with their signs turned, so that questions and passages must change together."""

    def __init__(self, engine: OnnxEngine):
        self._engine = engine
        self.dimensions = engine.dimensions
        self.embedded = 0

    def embed(self, texts: Sequence[str], *, as_query: bool = False) -> list[Embedded]:
        self.embedded += len(texts)
        signs = np.where(np.arange(self.dimensions) % 2, -1, 1).astype(np.float32)
        found = self._engine.embed(texts, as_query=as_query)
        return [dataclasses.replace(one, vector=one.vector * signs, tokens=one.tokens * signs) for one in found]

    def rest(self) -> None:
        pass

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._engine.count_tokens(texts)

    def close(self) -> None:
        self._engine.close()


def other_files() -> ModelFiles:
    found = find_packaged_model()
    assert found is not None
    return dataclasses.replace(found, card=dataclasses.replace(found.card, name=OTHER))


class TwoModels(Catalogue):
    """The packaged model, and another one that has the name of bge."""

    def find(self, name: str = "", kind: ModelKind = ModelKind.DENSE) -> ModelFiles:
        return other_files() if name and self.card(name).name == OTHER else super().find("minilm", kind)


def engine_of(files: ModelFiles) -> OnnxEngine | Mirrored:
    return Mirrored(OnnxEngine(files)) if files.card.name == OTHER else OnnxEngine(files)


def open_memory(folder: Path) -> Memory:
    return Memory(
        root_at(folder),
        person=PersonSettings(),
        catalogue=TwoModels(folder),
        now=lambda: dt.datetime.now(dt.UTC),
        make_engine=engine_of,
    )


def test_the_old_model_serves_until_the_new_one_is_complete_and_a_restart_goes_on(tmp_path: Path) -> None:
    (tmp_path / "topics").mkdir()
    (tmp_path / "MEMORY.md").write_text("# Memory\n", encoding="utf-8")
    for number in range(80):
        text = f"# Topic {number}\n\nThe cat number {number} sleeps on oven {number}.\n"
        (tmp_path / "topics" / f"t{number}.md").write_text(text, encoding="utf-8")
    with open_memory(tmp_path) as memory:
        assert memory.indices.own()
        memory.reindex()
        before = [hit.path for hit in search_memory(memory, "where does cat 7 sleep").hits]
        memory.plan_model("bge-small")

        memory.embedding.end()
        with pytest.raises(Interrupted):
            memory.change_model()

        assert [hit.path for hit in search_memory(memory, "where does cat 7 sleep").hits] == before
        assert memory.model.card.name != OTHER

    with open_memory(tmp_path) as memory:
        assert memory.upkeep.next_model == OTHER
        assert memory.indices.own()
        served = []
        memory.change_model(lambda _: served.append(search_memory(memory, "where does cat 7 sleep").hits[0].path))

        assert memory.model.card.name == OTHER and memory.upkeep.next_model == ""
        assert read_memory_settings(memory.root.settings).model == OTHER
        assert set(served) == {before[0]}
        assert [hit.path for hit in search_memory(memory, "where does cat 7 sleep").hits] == before
        status = memory.status()
        assert status.semantic == status.passages
