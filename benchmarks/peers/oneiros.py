"""oneiros itself, by the same meter: its commands `init` and `ingest` without a daemon, its tool `recall`, as JSON.

It is the program of the environment that the benchmark runs in, with its own settings but for the JSON.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote

from benchmarks.peers.peer import HITS, Door, Hit, Place
from memory_server.document import session_of_path
from memory_server.embedding.model import ModelFiles
from memory_server.layers.sessions import parse_id8

PROGRAM = Path(sys.executable).with_name("oneiros")


def install(packages: Path, source: Path | None) -> None:
    """Nothing: it is there."""


def prepare(place: Place, model: ModelFiles) -> Mapping[str, str]:  # noqa: ARG001  it is packaged with the program
    settings = place.home / ".config" / "oneiros" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("structured_output = true\n", encoding="utf-8")
    return {"ONEIROS_ROOT": str(place.home / ".oneiros" / "memory")}


def index_command(place: Place) -> Sequence[str]:
    """Its exit code of 1 names lines that it could not read, and is no failure."""
    program, transcripts = quote(str(PROGRAM)), quote(str(place.transcripts))
    return ["sh", "-c", f"{program} init && {{ {program} ingest {transcripts} || [ $? = 1 ]; }}"]


def build_door(place: Place) -> Door:  # noqa: ARG001  as all peers are asked
    answer = {"limit": HITS}
    return Door([str(PROGRAM), "mcp"], "recall", "query", answer, is_structured=True, ending=[str(PROGRAM), "stop"])


def read_hits(answer: str) -> list[Hit]:
    """A compressed session is named by the beginning of its id."""
    hits = json.loads(answer)["hits"]
    return [(session_of_path(hit["path"]) or parse_id8(hit["path"]), hit["passage"]) for hit in hits]
