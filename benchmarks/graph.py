"""Measures ChromaDB, as the daemon keeps it, beside the scan.

    python -m benchmarks.graph --chunks 10000 --json FILE [--keep FOLDER] [--starts 3]

One process fills a graph, compares its answers with the exact scan, replaces half of the files and deletes a tenth,
and compares again; then daemons are started in turn with and without a graph: what they hold, and the seconds from no
daemon to the first answer. A synthetic memory (see `synthetic.py`).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from benchmarks.machine import machine_text
from benchmarks.scale import find_states, make_timed_engine, open_memory, overlap, report_step
from benchmarks.synthetic import fill_vectors, write_corpus
from benchmarks.systems import catalogue, model_text
from memory_server.machine.process import prepare_process
from memory_server.root.paths import MemoryRoot
from oneiros.client import Client
from oneiros.light.endpoint import daemon_state

QUESTION = {"query": "bace dina foha gufo"}


def main() -> None:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, required=True)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--keep", type=Path, help="a folder for the synthetic memory, reused by the next run")
    parser.add_argument("--starts", type=int, default=3, help="daemons of each kind")
    arguments = parser.parse_args()
    print(f"{machine_text()}; {model_text()}")
    prepare_process()
    with tempfile.TemporaryDirectory(prefix="oneiros-graph-") as scratch:
        root = MemoryRoot(arguments.keep or Path(scratch) / "synthetic", find_states(Path(scratch)))
        figures = {"chunks": arguments.chunks, **measure_answers(root, arguments.chunks, Path(scratch) / "later")}
        figures |= measure_daemons(root, Path(scratch), arguments.starts)
    arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    for name, value in figures.items():
        print(f"{name:<24} {value}")


def measure_answers(root: MemoryRoot, chunks: int, later: Path) -> dict[str, Any]:
    """How long the graph takes to be level, and how much of the exact ten nearest it finds."""
    corpus = write_corpus(root, chunks)
    fill_vectors(root, catalogue().find())
    figures: dict[str, Any] = {}
    with open_memory(root, make_timed_engine) as memory:
        memory.indices.own()
        memory.reindex()
        report_step(f"{chunks} chunks indexed")

        def bring_level() -> float:
            started = time.monotonic()
            memory.indices.bring_graph_level(lambda _: None)
            return round(time.monotonic() - started, 2)

        figures |= {"fill_s": bring_level(), "overlap@10": overlap(memory, corpus)}
        report_step(json.dumps(figures))
        replace_half(root, chunks, later)
        fill_vectors(root, memory.model)
        memory.indices.graph.close()
        memory.reindex()
        figures |= {"level_again_s": bring_level(), "overlap@10_replaced": overlap(memory, corpus)}
        figures |= {**memory.indices.looks, "wrong_and_unreached": memory.indices.count_wrong(50)}
        memory.indices.graph.close()
        figures |= {"open_s": bring_level()}
    report_step(json.dumps(figures))
    return figures


def replace_half(root: MemoryRoot, chunks: int, folder: Path) -> None:
    """Every second file gets other words, and every tenth goes."""
    later = MemoryRoot(folder, root.state)
    write_corpus(later, chunks, seed=1)
    for number, file in enumerate(sorted(root.topics.glob("*.md"))):
        if number % 10 == 0:
            file.unlink()
        elif number % 2:
            file.write_text((later.topics / file.name).read_text(encoding="utf-8"), encoding="utf-8")


def measure_daemons(root: MemoryRoot, scratch: Path, starts: int) -> dict[str, Any]:
    """Medians of daemons started in turn with and without a graph: megabytes, and seconds to a first answer."""
    taken: dict[str, list[tuple[float, float]]] = {"chromadb": [], "scan": []}
    for _ in range(starts):
        for kind, figures in taken.items():
            figures.append(measure_daemon(root, scratch, kind))
            report_step(f"{kind}: {figures[-1]}")
    return {
        f"{name}_{kind}": statistics.median(figure[place] for figure in figures)
        for kind, figures in taken.items()
        for place, name in enumerate(("first_answer_s", "daemon_mb"))
    }


def measure_daemon(root: MemoryRoot, scratch: Path, kind: str) -> tuple[float, float]:
    """Seconds from no daemon to the first answer, and megabytes once it answers as it always will."""
    settings = scratch / kind / "oneiros" / "config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(f'semantic = "{kind}"\nquery_log = false\n', encoding="utf-8")
    variables = {
        **os.environ,
        "ONEIROS_ROOT": str(root.path),
        "XDG_RUNTIME_DIR": str(scratch),
        "XDG_STATE_HOME": str(scratch),
        "XDG_CONFIG_HOME": str(scratch / kind),
    }
    client = Client(variables, root.path)
    started = time.monotonic()
    client.start()
    try:
        client.ask("POST", "/api/search", QUESTION)
        seconds = time.monotonic() - started
        final = {"chromadb": "ChromaDB", "scan": "a scan, as you set it"}[kind]
        while (state := client.ask("GET", "/api/indexing"))["semantic"] != final or not state["runs"]:
            time.sleep(0.2)
        for tool in ("recall", "search", "exact"):
            client.ask("POST", f"/api/{tool}", QUESTION)
        number = daemon_state(root.state)["pid"]
        assert isinstance(number, int)
        return round(seconds, 2), round(psutil.Process(number).memory_info().rss / 1e6, 1)
    finally:
        subprocess.run(
            [sys.executable, "-c", "from oneiros.cli.main import run; run()", "stop"], env=variables, check=False
        )


if __name__ == "__main__":
    main()
