"""Writes a taught model as the folder that the program loads: ONNX graph, vocabulary, description.

Weights are rounded alone: each row of a matrix has a scale of its own, and products stay in 32 bits. So the graph is as
quick as one of 32-bit weights, a quarter as large, and its vectors hardly differ.
"""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor

from trainer.embedding.encoder import Encoder
from trainer.files import sha256_of, write_text

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
OUTPUT = "last_hidden_state"
OPSET = 17
LEAST_ROUNDED = 10_000  # numbers of a matrix; smaller ones stay as they are
WEIGHTS, VOCABULARY, DESCRIPTION = "model.onnx", "vocab.txt", "model.toml"


class _Graph(torch.nn.Module):  # type: ignore[misc]  # torch is absent where lint runs
    """What of the model is exported: token states."""

    def __init__(self, encoder: Encoder):
        super().__init__()
        self.bert = encoder.bert

    def forward(self, ids: Tensor, mask: Tensor, kinds: Tensor) -> Tensor:
        states: Tensor = self.bert(input_ids=ids, attention_mask=mask, token_type_ids=kinds).last_hidden_state
        return states


def write_model(encoder: Encoder, folder: Path, facts: Mapping[str, Any]) -> None:
    """Writes graph, vocabulary and `model.toml`; `facts` are further keys of it, such as the licence and a note."""
    folder.mkdir(parents=True, exist_ok=True)
    write_graph(encoder, folder / WEIGHTS)
    pieces = sorted(encoder.tokenizer.get_vocab().items(), key=lambda item: item[1])
    write_text(folder / VOCABULARY, "".join(f"{piece}\n" for piece, _ in pieces))
    own = {
        "kind": "dense",
        "weights": WEIGHTS,
        "tokenizer": VOCABULARY,
        "megabytes": max(1, round((folder / WEIGHTS).stat().st_size / 1e6)),
        "dimensions": int(encoder.bert.config.hidden_size),
        "pooling": encoder.pooling,
        "query_prefix": encoder.query_prefix,
    }
    lines = [f"{key} = {_as_toml(value)}" for key, value in (own | dict(facts)).items() if value not in ("", ())]
    hashes = [f'"{name}" = "{sha256_of(folder / name)}"' for name in (WEIGHTS, VOCABULARY)]
    write_text(folder / DESCRIPTION, "\n".join([*lines, "", "[sha256]", *hashes]) + "\n")


def write_graph(encoder: Encoder, file: Path) -> None:
    """Exports the graph with its matrices rounded to 8 bits."""
    encoder.bert.set_attn_implementation("eager")  # sums and products that every runtime knows
    example = torch.ones(2, 8, dtype=torch.long)
    axes = {name: {0: "texts", 1: "tokens"} for name in (*INPUTS, OUTPUT)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the older exporter; the newer one needs two libraries more
        torch.onnx.export(
            _Graph(encoder).cpu().eval(),
            (example, example, torch.zeros_like(example)),
            file,
            input_names=list(INPUTS),
            output_names=[OUTPUT],
            dynamic_axes=axes,
            opset_version=OPSET,
            dynamo=False,
        )
    model = onnx.load(file)
    round_matrices(model.graph)
    onnx.save(model, file)


def round_matrices(graph: "onnx.GraphProto") -> None:
    """Puts 8-bit numbers and scales in the place of large matrices, so that the largest number of a scale becomes 127.

    A product has a scale for each of its outputs, a table for each of its rows.
    """
    users = {name: node for node in graph.node for name in node.input}
    kept, nodes = [], []
    for tensor in graph.initializer:
        if len(tensor.dims) != 2 or np.prod(tensor.dims) < LEAST_ROUNDED:
            kept.append(tensor)
            continue
        matrix, user = numpy_helper.to_array(tensor), users[tensor.name]
        is_table = user.op_type == "Gather"
        scales = np.abs(matrix).max(axis=1 if is_table else 0, keepdims=True) / 127 + np.float32(1e-12)
        rounded = np.rint(matrix / scales).astype(np.int8)
        whole, scale, wide = (f"{tensor.name}.{part}" for part in ("int8", "scale", "float"))
        kept += [numpy_helper.from_array(rounded, whole), numpy_helper.from_array(scales.astype(np.float32), scale)]
        if is_table:  # only the rows that are read are made wide again
            result, rows = user.output[0], (f"{user.output[0]}.int8", f"{user.output[0]}.scale")
            nodes += [
                helper.make_node("Gather", [whole, user.input[1]], [rows[0]], axis=0),
                helper.make_node("Gather", [scale, user.input[1]], [rows[1]], axis=0),
                helper.make_node("Cast", [rows[0]], [wide], to=TensorProto.FLOAT),
                helper.make_node("Mul", [wide, rows[1]], [result]),
            ]
            graph.node.remove(user)
        else:
            nodes += [
                helper.make_node("Cast", [whole], [wide], to=TensorProto.FLOAT),
                helper.make_node("Mul", [wide, scale], [tensor.name]),
            ]
    others = list(graph.node)
    del graph.initializer[:], graph.node[:]
    graph.initializer.extend(kept)
    graph.node.extend(
        _in_order([*nodes, *others], {tensor.name for tensor in kept} | {one.name for one in graph.input})
    )


def _in_order(nodes: "list[onnx.NodeProto]", known: set[str]) -> "list[onnx.NodeProto]":
    """Nodes in an order in which each stands behind what it reads; `known`: what no node makes."""
    ordered, waiting = [], nodes
    while waiting:
        later = []
        for node in waiting:
            if all(name in known for name in node.input if name):
                ordered.append(node)
                known |= set(node.output)
            else:
                later.append(node)
        assert len(later) < len(waiting), "the graph has a circle"
        waiting = later
    return ordered


def _as_toml(value: object) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, tuple):
        return "[" + ", ".join(_as_toml(one) for one in value) + "]"
    return str(value)
