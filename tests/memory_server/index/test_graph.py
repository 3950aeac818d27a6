"""The graph alone, in processes of its own: damage to its files can end the one that reads them."""

import subprocess
import sys
from pathlib import Path

import pytest

from memory_server.document import Layer
from memory_server.embedding.vector_cache import VectorCache
from memory_server.errors import NeedsRepair
from memory_server.index.graph import Graph
from memory_server.index.semantic import SemanticIndex

# Brings a graph level with 2,500 vectors of the cache, which it makes where there are none, and asks it for the first.
PROGRAM = """
import sys
from pathlib import Path

import numpy as np

from memory_server.document import Layer
from memory_server.embedding.vector_cache import TextHash, VectorCache
from memory_server.index.graph import Graph

folder = Path(sys.argv[1])
cache = VectorCache(folder / "vectors", 32, 4)
keys = [TextHash(number.to_bytes(32, "big")) for number in range(2_500)]
if not len(cache):
    vectors = np.random.default_rng(1).normal(size=(len(keys), 32)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cache.append(keys, vectors, [np.zeros((0, 4), np.uint8)] * len(keys))
graph = Graph(folder / "graphs", "model")
graph.bring_level({layer: {*keys} if layer is Layer.TOPIC else set() for layer in Layer}, cache, lambda _: None)
assert graph.is_level
assert graph.find_nearest(Layer.TOPIC, np.array(cache.vectors()[0]), 1) == keys[:1]
graph.close()
"""


def start(folder: Path) -> int:
    return subprocess.run([sys.executable, "-c", PROGRAM, str(folder)], check=False, timeout=120).returncode


def test_a_graph_whose_files_lost_their_bytes_ends_one_process_at_most(tmp_path: Path) -> None:
    """As after a loss of power: the names and sizes are there, the content is not."""
    assert start(tmp_path) == 0
    [links] = (tmp_path / "graphs").rglob("link_lists.bin")
    links.write_bytes(bytes(links.stat().st_size))

    start(tmp_path)

    assert start(tmp_path) == 0
    assert links not in (tmp_path / "graphs").rglob("link_lists.bin")


@pytest.mark.parametrize("step", ["_collection", "list_keys"])
def test_a_graph_that_opens_half_way_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    def fail(*_: object) -> None:
        raise NeedsRepair("the semantic index is damaged")

    def close(index: SemanticIndex) -> None:
        closed.append(index)
        whole(index)

    closed: list[SemanticIndex] = []
    whole = SemanticIndex.close
    monkeypatch.setattr(SemanticIndex, "close", close)
    monkeypatch.setattr(SemanticIndex, step, fail)
    graph, cache = Graph(tmp_path / "graphs", "model"), VectorCache(tmp_path / "vectors", 32, 4)

    graph.bring_level({layer: set() for layer in Layer}, cache, lambda _: None)

    assert (len(closed), graph.is_level) == (2, False)
