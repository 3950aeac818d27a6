"""Models of a few words, made on the spot: a folder each, with a graph of one table, a tokenizer and a model.toml.

What such a model says of a word is a row of its table, so that a test can work out what it should say of a text.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers.implementations.bert_wordpiece import BertWordPieceTokenizer

Array = NDArray[np.float32]
MARKS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused0]", "[unused1]")
COMMON = """kind = "{kind}"
weights = "model.onnx"
tokenizer = "tokenizer.json"
licence = "MIT"
megabytes = 1
languages = ["en"]
"""


def numbers_of(words: Sequence[str]) -> dict[str, int]:
    """The number of each piece of a vocabulary."""
    return {piece: number for number, piece in enumerate([*MARKS, *words])}


def dense_model(folder: Path, words: Sequence[str], table: Array, more: str = "") -> Path:
    """Gives each word its row (d,) of a table."""
    return _written(folder, "dense", words, table, f"dimensions = {table.shape[1]}\n{more}")


def late_model(folder: Path, words: Sequence[str], table: Array, more: str = "") -> Path:
    """The same, as token vectors."""
    markers = 'query_marker = "[unused0]"\npassage_marker = "[unused1]"\n'
    return _written(folder, "late", words, table, f"dimensions = {table.shape[1]}\n{markers}{more}")


def sparse_model(
    folder: Path, words: Sequence[str], table: Array, question: Mapping[str, float], more: str = ""
) -> Path:
    """Gives each word a logit for each piece of the vocabulary, its row (v,); `question`: what words weigh in one."""
    _written(folder, "sparse", words, table, f'query_weights = "idf.json"\n{more}')
    (folder / "idf.json").write_text(json.dumps(question), encoding="utf-8")
    return folder


def cross_model(folder: Path, words: Sequence[str], table: Array, more: str = "") -> Path:
    """Scores a pair by the sum of its words' numbers (v, 1); those of the passage count twice."""
    return _written(folder, "cross", words, table, more)


def _written(folder: Path, kind: str, words: Sequence[str], table: Array, more: str) -> Path:
    assert len(table) == len(MARKS) + len(words), table.shape
    folder.mkdir(parents=True)
    (folder / "model.toml").write_text(COMMON.format(kind=kind) + more, encoding="utf-8")
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join([*MARKS, *words]), encoding="utf-8")
    BertWordPieceTokenizer(vocab=str(vocabulary), lowercase=True).save(str(folder / "tokenizer.json"))
    vocabulary.unlink()
    onnx.save(_pair_graph(table) if kind == "cross" else _table_graph(table), str(folder / "model.onnx"))
    return folder


def _table_graph(table: Array) -> Any:
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["rows"])]
    return _graph(nodes, table, "rows", ["batch", "sequence", table.shape[1]], inputs=("input_ids", "attention_mask"))


def _pair_graph(table: Array) -> Any:
    """The sum over all words that are read of their number, times 1 + the kind of the text they are of."""
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
        helper.make_node("Add", ["token_type_ids", "one"], ["times"]),
        helper.make_node("Mul", ["times", "attention_mask"], ["read"]),
        helper.make_node("Cast", ["read"], ["counts"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["counts", "last"], ["column"]),
        helper.make_node("Mul", ["rows", "column"], ["weighted"]),
        helper.make_node("ReduceSum", ["weighted", "first"], ["sums"], keepdims=0),
    ]
    names = ("input_ids", "attention_mask", "token_type_ids")
    return _graph(nodes, table, "sums", ["batch", 1], inputs=names)


def _graph(nodes: list[Any], table: Array, output: str, shape: Sequence[Any], inputs: Sequence[str]) -> Any:
    constants: dict[str, NDArray[Any]] = {"table": table.astype(np.float32), "one": np.array(1, np.int64)}
    constants |= {"last": np.array([2], np.int64), "first": np.array([1], np.int64)}
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"]) for name in inputs],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
