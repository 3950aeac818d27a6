"""MemPalace: transcripts as they are, cut into exchanges, in ChromaDB; its tool `mempalace_search`.

It embeds the packaged weights, which stand where ChromaDB keeps its own copy of the same model.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.peers.peer import HITS, Door, Hit, Place, install_packages
from benchmarks.peers.weights import lay_files
from memory_server.embedding.model import ModelFiles


def install(packages: Path, source: Path | None) -> None:  # noqa: ARG001  as all peers are installed
    install_packages(packages, ["mempalace==3.11.0"])


def prepare(place: Place, model: ModelFiles) -> Mapping[str, str]:
    lay_files(model, place.home / ".cache" / "chroma" / "onnx_models" / "all-MiniLM-L6-v2" / "onnx")
    return {"MEMPALACE_EMBEDDING_MODEL": "minilm", "MEMPALACE_EMBEDDING_DEVICE": "cpu"}


def index_command(place: Place) -> Sequence[str]:
    mine = [str(place.packages / "bin" / "mempalace"), "mine", str(place.transcripts), "--mode", "convos"]
    return [*mine, "--wing", "sessions", "--direct"]


def build_door(place: Place) -> Door:
    return Door([str(place.packages / "bin" / "mempalace-mcp")], "mempalace_search", "query", {"limit": HITS})


def read_hits(answer: str) -> list[Hit]:
    return [(Path(hit["source_file"]).stem, hit["text"]) for hit in json.loads(answer).get("results", [])]
