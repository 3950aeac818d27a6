"""Lays the packaged weights where another memory looks for a model, so that no run needs a model hub."""

import json
import shutil
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers.implementations.bert_wordpiece import BertWordPieceTokenizer

from memory_server.embedding.model import ModelFiles

SNAPSHOT = "0" * 40
TOKENS = 256  # that the model was taught to read
CUT = {name: f"{name}_cut" for name in ("input_ids", "attention_mask", "token_type_ids")}
SPECIAL = {f"{name}_token": f"[{name.upper()}]" for name in ("unk", "sep", "pad", "cls", "mask")}
BESIDE = {  # what libraries want to know of a model
    "config.json": {"model_type": "bert", "pad_token_id": 0, "hidden_size": 384, "max_position_embeddings": 512},
    "tokenizer_config.json": {"tokenizer_class": "BertTokenizer", "model_max_length": TOKENS, **SPECIAL},
    "special_tokens_map.json": SPECIAL,
}


def lay_files(model: ModelFiles, folder: Path, graph: str = "model.onnx") -> Path:
    """The weights under a name in a folder, with the files that tokenizers of several libraries want beside them."""
    (folder / graph).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(model.weights, folder / graph)
    shutil.copyfile(model.tokenizer, folder / "vocab.txt")
    BertWordPieceTokenizer(vocab=str(model.tokenizer), lowercase=True).save(str(folder / "tokenizer.json"))
    for name, content in BESIDE.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return folder


def lay_hub(model: ModelFiles, cache: Path, repository: str) -> Path:
    """The same as a model of a hub's cache."""
    home = cache / f"models--{repository.replace('/', '--')}"
    (home / "refs").mkdir(parents=True, exist_ok=True)
    (home / "refs" / "main").write_text(SNAPSHOT, encoding="utf-8")
    return lay_files(model, home / "snapshots" / SNAPSHOT)


def pool_graph(graph: Path) -> None:
    """Makes a graph of what a library wants that pools nothing: one row a text, of the tokens that the model reads."""
    model = onnx.load(graph)
    inner = model.graph
    for node in inner.node:  # what comes in is cut and given its kinds of tokens first
        node.input[:] = [CUT.get(name, name) for name in node.input]
    numbers = {"first": [0], "end": [TOKENS], "axis": [1]}
    constants = [numpy_helper.from_array(np.array(value, np.int64), name) for name, value in numbers.items()]
    inner.initializer.extend(constants)
    before = [
        helper.make_node("Slice", ["input_ids", *numbers], [CUT["input_ids"]]),
        helper.make_node("Slice", ["attention_mask", *numbers], [CUT["attention_mask"]]),
        helper.make_node("Sub", [CUT["input_ids"]] * 2, [CUT["token_type_ids"]]),
    ]
    after = [
        helper.make_node("Cast", [CUT["attention_mask"]], ["read"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["read", "end_of_row"], ["weights"]),
        helper.make_node("Mul", ["last_hidden_state", "weights"], ["states"]),
        helper.make_node(
            "ReduceMean", ["states"], ["dense_vecs"], axes=[1], keepdims=0
        ),  # too short, but of that direction
    ]
    inner.initializer.append(numpy_helper.from_array(np.array([2], np.int64), "end_of_row"))
    nodes = [*before, *inner.node, *after]
    del inner.node[:]
    inner.node.extend(nodes)
    inputs = [one for one in inner.input if one.name != "token_type_ids"]
    del inner.input[:], inner.output[:]
    inner.input.extend(inputs)
    inner.output.append(helper.make_tensor_value_info("dense_vecs", TensorProto.FLOAT, ["batch", 384]))
    onnx.save(model, graph)
