"""episodic-memory: transcripts as they are, an exchange a vector, in SQLite; its tool `search`, as JSON.

No registry has it: `--source` names a checkout, into which npm brings what it needs. Summaries, which a model would
write, are off. It embeds the packaged weights under the name of another model, and so puts that model's prefix before
a question. Its hits are whole exchanges here; as Markdown, its default, the first 200 characters that the person said.
"""

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.peers.peer import HITS, Door, Hit, Place, install_once
from benchmarks.peers.weights import lay_files
from memory_server.embedding.model import ModelFiles

MODEL = "Xenova/bge-small-en-v1.5"
NODE_HEADERS = "/usr"  # below it Debian's headers, with which the binding of SQLite is built


def install(packages: Path, source: Path | None) -> None:
    def make() -> None:
        assert source is not None, "--source names a checkout of obra/episodic-memory"
        shutil.copytree(source, packages)
        subprocess.run(["npm", "install", "--ignore-scripts", "--omit=dev"], cwd=packages, check=True)
        binding = packages / "node_modules" / "better-sqlite3"
        subprocess.run(["npm", "run", "build-release", f"--nodedir={NODE_HEADERS}"], cwd=binding, check=True)

    install_once(packages, make)


def prepare(place: Place, model: ModelFiles) -> Mapping[str, str]:
    library = place.packages / "node_modules" / "@huggingface" / "transformers"
    lay_files(model, library / "models" / MODEL, "onnx/model_quantized.onnx")
    return {
        "EPISODIC_MEMORY_CONFIG_DIR": str(place.home / "config"),
        "TEST_PROJECTS_DIR": str(place.transcripts),
    }


def index_command(place: Place) -> Sequence[str]:
    return ["node", str(place.packages / "dist" / "index-cli.js"), "index-all", "--no-summaries"]


def build_door(place: Place) -> Door:
    server = ["node", str(place.packages / "dist" / "mcp-server.js")]
    return Door(server, "search", "query", {"limit": HITS, "response_format": "json"})


def read_hits(answer: str) -> list[Hit]:
    found = [hit["exchange"] for hit in json.loads(answer)["results"]]
    return [(Path(one["archivePath"]).stem, f"{one['userMessage']}\n{one['assistantMessage']}") for one in found]
