"""What the libraries would tell their makers stays here; a folder that one stands in settles nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memory_server import OFF
from tests.system.house import CHECKOUT

SEEN_BY_CHROMADB = """
import json
from pathlib import Path
from memory_server.index.semantic import SemanticIndex
index = SemanticIndex(Path("chroma"))
settings = index._client.get_settings()
print(json.dumps([settings.anonymized_telemetry, settings.chroma_otel_granularity, settings.chroma_api_impl]))
"""
ENVIRONMENT_FILE = """
ANONYMIZED_TELEMETRY=true
CHROMA_API_IMPL=chromadb.api.fastapi.FastAPI
CHROMA_OTEL_COLLECTION_ENDPOINT=http://collector.example:4317
CHROMA_OTEL_GRANULARITY=all
MIGRATIONS=whatever another program means by it
"""


def run(code: str, folder: Path, **variables: str) -> str:
    """What a Python program prints that stands in `folder`, which is its home too."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(CHECKOUT), **variables}
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], env=environment, cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("package", ["memory_server.memory", "trainer", "benchmarks"])
def test_every_package_that_can_load_a_library_switches_its_telemetry_off(package: str, tmp_path: Path) -> None:
    output = run(
        f"import json, os, {package}; print(json.dumps(dict(os.environ)))", tmp_path, ORT_DISABLE_TELEMETRY="0"
    )

    silent = {name: value for name, value in OFF.items() if name != "ANONYMIZED_TELEMETRY"}
    assert json.loads(output).items() >= silent.items()


def test_what_a_working_folder_brings_settles_nothing_of_chromadb(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(ENVIRONMENT_FILE, encoding="utf-8")

    output = run(SEEN_BY_CHROMADB, tmp_path)

    assert json.loads(output) == [False, None, "chromadb.api.rust.RustBindingsAPI"]


def test_variables_settle_nothing_of_chromadb_either(tmp_path: Path) -> None:
    output = run(SEEN_BY_CHROMADB, tmp_path, CHROMA_OTEL_GRANULARITY="all", CHROMA_API_IMPL="no.such.Class")

    assert json.loads(output) == [False, None, "chromadb.api.rust.RustBindingsAPI"]
