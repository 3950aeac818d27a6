"""Lays the packaged weights where another memory looks for a model, so that no run needs a model hub."""

import json
import shutil
from pathlib import Path

import onnx
from onnx.parser import parse_graph
from tokenizers.implementations.bert_wordpiece import BertWordPieceTokenizer

from memory_server.embedding.model import ModelFiles

SNAPSHOT = "0" * 40
TOKENS = 256  # that the model was taught to read
SPECIAL = {f"{name}_token": f"[{name.upper()}]" for name in ("unk", "sep", "pad", "cls", "mask")}
BESIDE = {  # what libraries want to know of a model
    "config.json": {"model_type": "bert", "pad_token_id": 0, "hidden_size": 384, "max_position_embeddings": 512},
    "tokenizer_config.json": {"tokenizer_class": "BertTokenizer", "model_max_length": TOKENS, **SPECIAL},
    "special_tokens_map.json": SPECIAL,
}
CUT = f"""cut (int64[batch, length] input_ids, int64[batch, length] attention_mask) => () {{
    first = Constant <value_ints = [0]> ()
    end = Constant <value_ints = [{TOKENS}]> ()
    axis = Constant <value_ints = [1]> ()
    cut_input_ids = Slice (input_ids, first, end, axis)
    cut_attention_mask = Slice (attention_mask, first, end, axis)
    cut_token_type_ids = Sub (cut_input_ids, cut_input_ids)
}}"""
POOL = """pool () => (float[batch, 384] dense_vecs) {
    read = Cast <to = 1> (cut_attention_mask)
    end_of_row = Constant <value_ints = [2]> ()
    weights = Unsqueeze (read, end_of_row)
    states = Mul (last_hidden_state, weights)
    dense_vecs = ReduceMean <axes = [1], keepdims = 0> (states)
}"""  # the mean is too short, but of that direction


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


def pool_graph(file: Path) -> None:
    """Makes a graph of what a library wants that pools nothing: one row a text, of the tokens that the model reads."""
    model, before, after = onnx.load(file), parse_graph(CUT), parse_graph(POOL)
    graph, inputs = model.graph, {one.name for one in model.graph.input}
    for node in graph.node:
        node.input[:] = [f"cut_{name}" if name in inputs else name for name in node.input]
    nodes = [*before.node, *graph.node, *after.node]
    del graph.node[:], graph.input[:], graph.output[:]
    graph.node.extend(nodes)
    graph.input.extend(before.input)
    graph.output.extend(after.output)
    onnx.save(model, file)
