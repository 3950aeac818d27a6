"""A bge-shaped BERT with random weights: a plain forward pass in NumPy, and the same graph as the hub lays it out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers.implementations.bert_wordpiece import BertWordPieceTokenizer

from memory_server.embedding.catalogue import PACKAGED_VOCABULARY

Array = NDArray[np.float32]
HIDDEN, HEADS, LAYERS, INNER, PLACES = 384, 12, 2, 512, 512  # bge-small has 12 layers and 1,536 inner units
EPSILON = 1e-12


@dataclass(frozen=True)
class RandomBert:
    """Weights by name, and what they make of tokens."""

    weights: Mapping[str, Array]

    @classmethod
    def of_seed(cls, seed: int, words: int) -> "RandomBert":
        chance = np.random.default_rng(seed)

        def normal(*shape: int) -> Array:
            return (chance.standard_normal(shape) * 0.08).astype(np.float32)

        weights = {"word": normal(words, HIDDEN), "place": normal(PLACES, HIDDEN), "kind": normal(2, HIDDEN)}
        weights |= {"norm.scale": 1 + normal(HIDDEN), "norm.shift": normal(HIDDEN)}
        for layer in range(LAYERS):
            for name in ("query", "key", "value", "out"):
                weights |= {f"{layer}.{name}.w": normal(HIDDEN, HIDDEN), f"{layer}.{name}.b": normal(HIDDEN)}
            weights |= {f"{layer}.up.w": normal(HIDDEN, INNER), f"{layer}.up.b": normal(INNER)}
            weights |= {f"{layer}.down.w": normal(INNER, HIDDEN), f"{layer}.down.b": normal(HIDDEN)}
            for name in ("norm1", "norm2"):
                weights |= {f"{layer}.{name}.scale": 1 + normal(HIDDEN), f"{layer}.{name}.shift": normal(HIDDEN)}
        return cls(weights)

    def states(self, ids: Sequence[int]) -> Array:
        """The last hidden states (t, HIDDEN) of one text: BERT (Devlin et al. 2019), one text at a time, no padding."""
        w = self.weights
        states = w["word"][list(ids)] + w["place"][: len(ids)] + w["kind"][0]
        states = self._normed(states, "norm")
        for layer in range(LAYERS):
            heads = [self._head(states, layer, head) for head in range(HEADS)]
            mixed = np.concatenate(heads, axis=1) @ w[f"{layer}.out.w"] + w[f"{layer}.out.b"]
            states = self._normed(states + mixed, f"{layer}.norm1")
            inner = _gelu(states @ w[f"{layer}.up.w"] + w[f"{layer}.up.b"])
            states = self._normed(states + inner @ w[f"{layer}.down.w"] + w[f"{layer}.down.b"], f"{layer}.norm2")
        return states

    def _head(self, states: Array, layer: int, head: int) -> Array:
        part = slice(head * HIDDEN // HEADS, (head + 1) * HIDDEN // HEADS)
        query, key, value = (
            states @ self.weights[f"{layer}.{name}.w"][:, part] + self.weights[f"{layer}.{name}.b"][part]
            for name in ("query", "key", "value")
        )
        scores = query @ key.T / np.sqrt(HIDDEN // HEADS)
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        result: Array = (shares / shares.sum(axis=1, keepdims=True)) @ value
        return result

    def _normed(self, states: Array, name: str) -> Array:
        centred = states - states.mean(axis=1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=1, keepdims=True) + EPSILON)
        result: Array = centred / spread * self.weights[f"{name}.scale"] + self.weights[f"{name}.shift"]
        return result


def _gelu(values: Array) -> Array:
    """x * (1 + erf(x / sqrt 2)) / 2; erf after Abramowitz and Stegun 7.1.26, good to 1.5e-7."""
    x = values / np.sqrt(2)
    t = 1 / (1 + 0.3275911 * np.abs(x))
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    erf = np.sign(x) * (1 - series * np.exp(-(x**2)))
    result: Array = (values * (1 + erf) / 2).astype(np.float32)
    return result


def write_hub_cache(hub: Path, repository: str, revision: str, bert: RandomBert) -> Path:
    """Lays a model out as the hub does: blobs left out, files in the snapshot, `refs/main`. Gives the weight file."""
    folder = hub / f"models--{repository.replace('/', '--')}"
    snapshot = folder / "snapshots" / revision
    (snapshot / "onnx").mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text(revision, encoding="utf-8")
    BertWordPieceTokenizer(vocab=str(PACKAGED_VOCABULARY), lowercase=True).save(str(snapshot / "tokenizer.json"))
    onnx.save(onnx_model(bert), str(snapshot / "onnx" / "model.onnx"))
    return snapshot / "onnx" / "model.onnx"


def onnx_model(bert: RandomBert) -> Any:
    """The graph of the weights, with inputs and output named as in the files on the hub."""
    nodes: list[Any] = []
    constants: dict[str, NDArray[Any]] = {
        "heads": np.array([0, 0, HEADS, HIDDEN // HEADS], np.int64),
        "joined": np.array([0, 0, HIDDEN], np.int64),
        "root": np.array(np.sqrt(HIDDEN // HEADS), np.float32),
        "one": np.array(1, np.float32),
        "far": np.array(-1e9, np.float32),
        "half": np.array(0.5, np.float32),
        "root2": np.array(np.sqrt(2), np.float32),
        "zero": np.array([0], np.int64),
        "first": np.array([1], np.int64),
        "second": np.array([2], np.int64),
        "axes": np.array([1, 2], np.int64),
    }

    def node(kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"n{len(nodes)}"
        nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def dense(states: str, name: str) -> str:
        return node("Add", node("MatMul", states, f"{name}.w"), f"{name}.b")

    def normed(states: str, name: str) -> str:
        return node("LayerNormalization", states, f"{name}.scale", f"{name}.shift", axis=-1, epsilon=EPSILON)

    mask = node("Cast", node("Unsqueeze", "attention_mask", "axes"), to=TensorProto.FLOAT)
    mask = node("Mul", node("Sub", "one", mask), "far")
    length = node("Slice", node("Shape", "input_ids"), "first", "second")
    places = node("Slice", "place", "zero", length, "zero")
    states = node("Add", node("Gather", "word", "input_ids"), node("Gather", "kind", "token_type_ids"))
    states = normed(node("Add", states, places), "norm")
    for layer in range(LAYERS):
        query, key, value = (
            node("Transpose", node("Reshape", dense(states, f"{layer}.{name}"), "heads"), perm=perm)
            for name, perm in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3]))
        )
        scores = node("Add", node("Div", node("MatMul", query, key), "root"), mask)
        mixed = node("Transpose", node("MatMul", node("Softmax", scores, axis=-1), value), perm=[0, 2, 1, 3])
        states = normed(node("Add", states, dense(node("Reshape", mixed, "joined"), f"{layer}.out")), f"{layer}.norm1")
        inner = dense(states, f"{layer}.up")
        erf = node("Add", node("Erf", node("Div", inner, "root2")), "one")
        inner = node("Mul", node("Mul", inner, erf), "half")
        states = normed(node("Add", states, dense(inner, f"{layer}.down")), f"{layer}.norm2")
    nodes.append(helper.make_node("Identity", [states], ["last_hidden_state"]))
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "sequence", HIDDEN])
    tensors = [numpy_helper.from_array(value, name) for name, value in [*bert.weights.items(), *constants.items()]]
    graph = helper.make_graph(nodes, "bert", inputs, [output], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
