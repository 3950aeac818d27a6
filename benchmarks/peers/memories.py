"""The memories that are run: of each its packages, what it wants laid in its home, what indexes, and its door."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from shlex import quote

from benchmarks.peers.peer import HITS, Hit, Peer, Place, Setup
from benchmarks.peers.weights import lay_files, lay_hub, pool_graph
from memory_server.document import session_of_path
from memory_server.embedding.model import ModelFiles
from memory_server.layers.sessions import parse_id8

STAND_IN = (
    "import sys, pysqlite3; sys.modules['sqlite3'] = pysqlite3; sys.modules['sqlite3.dbapi2'] = pysqlite3.dbapi2\n"
)
POOLED = "packaged/minilm-pooled"
PROGRAM = str(Path(sys.executable).with_name("oneiros"))


class BasicMemory(Peer):
    """basic-memory: Markdown notes with keywords and vectors; its tool `search_notes`, as JSON.

    It reads no transcripts: it is given what was said as one note a session. It embeds the packaged weights, which its
    own library knows by name. `pysqlite3-binary` stands in for Python's SQLite, which may load no extensions.
    """

    requirements = ("basic-memory==0.24.1", "pysqlite3-binary")

    def install(self, packages: Path, source: Path | None) -> None:
        super().install(packages, source)
        library = next((packages / "lib").glob("python3.*/site-packages"))
        (library / "sqlite_with_extensions.pth").write_text(STAND_IN, encoding="utf-8")

    def prepare(self, place: Place, model: ModelFiles) -> Setup:
        lay_hub(model, place.home / "models", "Qdrant/all-MiniLM-L6-v2-onnx")
        variables = {
            "BASIC_MEMORY_HOME": str(place.notes),
            "BASIC_MEMORY_AUTO_UPDATE": "false",
            "BASIC_MEMORY_SEMANTIC_MIN_SIMILARITY": "0",  # the default was set for another model
            "BASIC_MEMORY_SEMANTIC_EMBEDDING_MODEL": "sentence-transformers/all-MiniLM-L6-v2",
            "BASIC_MEMORY_SEMANTIC_EMBEDDING_DIMENSIONS": "384",
            "BASIC_MEMORY_SEMANTIC_EMBEDDING_CACHE_DIR": str(place.home / "models"),
        }
        program = place.find_program("basic-memory")
        asked = {"page_size": HITS, "output_format": "json"}
        return Setup(place, [program, "reindex"], [program, "mcp"], variables, "search_notes", asked)

    def read_hits(self, answer: str) -> list[Hit]:
        found = json.loads(answer)["results"]
        return [(Path(hit["file_path"]).stem, hit.get("matched_chunk") or hit.get("content") or "") for hit in found]


class Memsearch(Peer):
    """memsearch: Markdown files in Milvus Lite, keywords and vectors; its command `search`, as JSON (it has no server).

    It reads no transcripts: it is given what was said as one Markdown file a session, where its plugin would have a
    model write a summary. It embeds the packaged weights, in a graph that pools as they want it, since its own takes
    the first token. Every question is a process that loads weights and index anew, as it is from its plugin.
    """

    requirements = ("memsearch[onnx]==0.4.23",)

    def prepare(self, place: Place, model: ModelFiles) -> Setup:
        pool_graph(lay_hub(model, place.home / "models", POOLED) / "model.onnx")
        (place.home / ".memsearch").mkdir()
        settings = f'[embedding]\nprovider = "onnx"\nmodel = "{POOLED}"\n'
        (place.home / ".memsearch" / "config.toml").write_text(settings, encoding="utf-8")
        program = place.find_program("memsearch")
        door = [program, "search", "--json-output", "--top-k", str(HITS)]
        return Setup(place, [program, "index", str(place.notes)], door, {"HF_HUB_CACHE": str(place.home / "models")})

    def read_hits(self, answer: str) -> list[Hit]:
        return [(Path(hit["source"]).stem, hit["content"]) for hit in json.loads(answer)]


class MemPalace(Peer):
    """MemPalace: transcripts as they are, cut into exchanges, in ChromaDB; its tool `mempalace_search`.

    It embeds the packaged weights, which stand where ChromaDB keeps its own copy of the same model.
    """

    requirements = ("mempalace==3.11.0",)

    def prepare(self, place: Place, model: ModelFiles) -> Setup:
        lay_files(model, place.home / ".cache" / "chroma" / "onnx_models" / "all-MiniLM-L6-v2" / "onnx")
        options = ["--mode", "convos", "--wing", "sessions", "--direct"]
        index = [place.find_program("mempalace"), "mine", str(place.transcripts), *options]
        door = [place.find_program("mempalace-mcp")]
        variables = {"MEMPALACE_EMBEDDING_MODEL": "minilm", "MEMPALACE_EMBEDDING_DEVICE": "cpu"}
        return Setup(place, index, door, variables, "mempalace_search", {"limit": HITS})

    def read_hits(self, answer: str) -> list[Hit]:
        return [(Path(hit["source_file"]).stem, hit["text"]) for hit in json.loads(answer).get("results", [])]


class EpisodicMemory(Peer):
    """episodic-memory: transcripts as they are, an exchange a vector, in SQLite; its tool `search`, as JSON.

    No registry has it: `--source` names a checkout, into which npm brings what it needs; the binding of SQLite is built
    with Debian's headers. Summaries, which a model would write, are off. It embeds the packaged weights under the name
    of another model, and so puts that model's prefix before a question. Its hits are whole exchanges here; as
    Markdown, its default, the first 200 characters that the person said.
    """

    def install(self, packages: Path, source: Path | None) -> None:
        assert source is not None, "--source names a checkout of obra/episodic-memory"
        shutil.copytree(source, packages)
        subprocess.run(["npm", "install", "--ignore-scripts", "--omit=dev"], cwd=packages, check=True)
        binding = packages / "node_modules" / "better-sqlite3"
        subprocess.run(["npm", "run", "build-release", "--nodedir=/usr"], cwd=binding, check=True)

    def prepare(self, place: Place, model: ModelFiles) -> Setup:
        models = place.packages / "node_modules" / "@huggingface" / "transformers" / "models"
        lay_files(model, models / "Xenova" / "bge-small-en-v1.5", "onnx/model_quantized.onnx")
        index, server = (["node", str(place.packages / "dist" / name)] for name in ("index-cli.js", "mcp-server.js"))
        variables = {
            "EPISODIC_MEMORY_CONFIG_DIR": str(place.home / "config"),
            "TEST_PROJECTS_DIR": str(place.transcripts),
        }
        asked = {"limit": HITS, "response_format": "json"}
        return Setup(place, [*index, "index-all", "--no-summaries"], server, variables, "search", asked)

    def read_hits(self, answer: str) -> list[Hit]:
        found = [hit["exchange"] for hit in json.loads(answer)["results"]]
        return [(Path(one["archivePath"]).stem, f"{one['userMessage']}\n{one['assistantMessage']}") for one in found]


class Oneiros(Peer):
    """oneiros itself, by the same meter: `init` and `ingest` without a daemon, its tool `recall`, as JSON.

    It is the program of the environment that the benchmark runs in, with its own settings but for the JSON.
    """

    def install(self, packages: Path, source: Path | None) -> None:  # noqa: ARG002
        """Nothing but a folder: it is there."""
        packages.mkdir(parents=True)

    def prepare(self, place: Place, model: ModelFiles) -> Setup:  # noqa: ARG002  it is packaged with the program
        settings = place.home / ".config" / "oneiros" / "config.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text("structured_output = true\n", encoding="utf-8")
        ingest = f"{quote(PROGRAM)} ingest {quote(str(place.transcripts))}"
        index = f"{quote(PROGRAM)} init && {{ {ingest} || [ $? = 1 ]; }}"  # 1 names lines that it could not read
        variables, asked = {"ONEIROS_ROOT": str(place.home / ".oneiros" / "memory")}, {"limit": HITS}
        door, ending = [PROGRAM, "mcp"], [PROGRAM, "stop"]
        return Setup(place, ["sh", "-c", index], door, variables, "recall", asked, is_structured=True, ending=ending)

    def read_hits(self, answer: str) -> list[Hit]:
        """A compressed session is named by the beginning of its id."""
        hits = json.loads(answer)["hits"]
        return [(session_of_path(hit["path"]) or parse_id8(hit["path"]), hit["passage"]) for hit in hits]


PEERS: Mapping[str, Peer] = {
    "basic-memory": BasicMemory(),
    "memsearch": Memsearch(),
    "mempalace": MemPalace(),
    "episodic-memory": EpisodicMemory(),
    "oneiros": Oneiros(),
}
