"""memsearch: Markdown files in Milvus Lite, keywords and vectors; its command `search`, as JSON (it has no server).

It reads no transcripts: it is given what was said as one Markdown file a session, where its plugin would have a model
write a summary. It embeds the packaged weights, in a graph that pools as they want it, since its own takes the first
token. Every question is a process that loads weights and index anew, as it is from its plugin.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.peers.peer import HITS, Door, Hit, Place, install_packages
from benchmarks.peers.weights import lay_hub, pool_graph
from memory_server.embedding.model import ModelFiles

MODEL = "packaged/minilm-pooled"
SETTINGS = f'[embedding]\nprovider = "onnx"\nmodel = "{MODEL}"\n'


def install(packages: Path, source: Path | None) -> None:  # noqa: ARG001  as all peers are installed
    install_packages(packages, ["memsearch[onnx]==0.4.23"])


def prepare(place: Place, model: ModelFiles) -> Mapping[str, str]:
    pool_graph(lay_hub(model, place.home / "models", MODEL) / "model.onnx")
    (place.home / ".memsearch").mkdir()
    (place.home / ".memsearch" / "config.toml").write_text(SETTINGS, encoding="utf-8")
    return {"HF_HUB_CACHE": str(place.home / "models")}


def index_command(place: Place) -> Sequence[str]:
    return [str(place.packages / "bin" / "memsearch"), "index", str(place.notes)]


def build_door(place: Place) -> Door:
    return Door([str(place.packages / "bin" / "memsearch"), "search", "--json-output", "--top-k", str(HITS)])


def read_hits(answer: str) -> list[Hit]:
    return [(Path(hit["source"]).stem, hit["content"]) for hit in json.loads(answer)]
