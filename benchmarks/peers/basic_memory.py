"""basic-memory: Markdown notes with keywords and vectors; its tool `search_notes`, as JSON.

It reads no transcripts: it is given what was said as one note a session. It embeds the packaged weights, which its
own library knows by name. `pysqlite3-binary` stands in for Python's SQLite, which may load no extensions.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.peers.peer import HITS, Door, Hit, Place, install_packages
from benchmarks.peers.weights import lay_hub
from memory_server.embedding.model import ModelFiles

MODEL = "sentence-transformers/all-MiniLM-L6-v2"
STAND_IN = (
    "import sys, pysqlite3; sys.modules['sqlite3'] = pysqlite3; sys.modules['sqlite3.dbapi2'] = pysqlite3.dbapi2\n"
)


def install(packages: Path, source: Path | None) -> None:  # noqa: ARG001  as all peers are installed
    install_packages(packages, ["basic-memory==0.24.1", "pysqlite3-binary"])
    library = next((packages / "lib").glob("python3.*/site-packages"))
    (library / "sqlite_with_extensions.pth").write_text(STAND_IN, encoding="utf-8")


def prepare(place: Place, model: ModelFiles) -> Mapping[str, str]:
    lay_hub(model, place.home / "models", "Qdrant/all-MiniLM-L6-v2-onnx")
    return {
        "BASIC_MEMORY_HOME": str(place.notes),
        "BASIC_MEMORY_AUTO_UPDATE": "false",
        "BASIC_MEMORY_SEMANTIC_MIN_SIMILARITY": "0",  # the default was set for another model
        "BASIC_MEMORY_SEMANTIC_EMBEDDING_MODEL": MODEL,
        "BASIC_MEMORY_SEMANTIC_EMBEDDING_DIMENSIONS": "384",
        "BASIC_MEMORY_SEMANTIC_EMBEDDING_CACHE_DIR": str(place.home / "models"),
    }


def index_command(place: Place) -> Sequence[str]:
    return [str(place.packages / "bin" / "basic-memory"), "reindex"]


def build_door(place: Place) -> Door:
    command = [str(place.packages / "bin" / "basic-memory"), "mcp"]
    return Door(command, "search_notes", "query", {"page_size": HITS, "output_format": "json"})


def read_hits(answer: str) -> list[Hit]:
    found = json.loads(answer)["results"]
    return [(Path(hit["file_path"]).stem, hit.get("matched_chunk") or hit.get("content") or "") for hit in found]
