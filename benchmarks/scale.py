"""Measures search and indexing at a size.

    python -m benchmarks.scale --chunks 30000 --json FILE [--data ../shared/data/docs] [--keep FOLDER]

Latencies are taken in one process on a synthetic corpus (see `synthetic.py`); `embedder_share` and `rebuild_speedup` on
2,000 chunks of `--data` that the model really embeds, and `save_to_search_s` with the daemon's own watcher and indexer
on the synthetic memory. All of one run, on one machine: compare ratios, not milliseconds.
"""

import argparse
import contextlib
import datetime as dt
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.machine import machine_text
from benchmarks.synthetic import Corpus, TimedEngine, corpus_files, fill_vectors, write_corpus
from benchmarks.systems import catalogue, model_text
from memory_server.document import Answer
from memory_server.embedding.model import ModelFiles
from memory_server.embedding.onnx_engine import OnnxEngine
from memory_server.embedding.workers import EmbeddingControl, Interrupted
from memory_server.machine.process import prepare_process
from memory_server.memory import Memory
from memory_server.root.paths import MemoryRoot, state_home
from memory_server.search.question import Search, parse_query
from memory_server.search.ranking.arms import SemanticArm, make_scope
from memory_server.search.ranking.scoring import Likeness
from memory_server.search.retrieval import DEFAULT_LAYERS
from memory_server.settings import PersonSettings
from oneiros.client import Client
from oneiros.daemon.index_runs import IndexRuns
from oneiros.daemon.watching import Watcher
from oneiros.light.endpoint import daemon_state

QUESTIONS = 100
REAL_CHUNKS = 2_000
WORDS_A_REAL_CHUNK = 75
FILTER = "tag:group3"
SAVES = 5


def main() -> None:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, required=True)
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/docs"))
    parser.add_argument("--keep", type=Path, help="a folder for the synthetic memory, reused by the next run")
    arguments = parser.parse_args()
    print(f"{machine_text()}; {model_text()}")
    prepare_process()
    with tempfile.TemporaryDirectory(prefix="oneiros-scale-") as scratch:
        figures = measure(
            arguments.chunks, arguments.data, arguments.keep or Path(scratch) / "synthetic", Path(scratch)
        )
    arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    for name, value in figures.items():
        print(f"{name:<24} {value}")


def measure(chunks: int, data: Path, folder: Path, scratch: Path) -> dict[str, Any]:
    """All figures of one run."""
    root, model = MemoryRoot(folder, find_states(scratch)), catalogue().find()
    corpus = write_corpus(root, chunks)
    report_step(f"{fill_vectors(root, model)} vectors in the cache")
    with open_memory(root, make_timed_engine) as memory:
        memory.indices.own()
        report = memory.reindex()
        report_step(f"{report.chunks} chunks indexed in {report.seconds:.0f} s, {report.embedded} embedded")
        figures: dict[str, Any] = {"chunks": report.chunks, **latencies(memory, corpus)}
        figures["overlap@10"] = overlap(memory, corpus)
        figures["save_to_search_s"] = save_to_search(memory)
        figures["indexing_ratio"] = indexing_ratio(memory, corpus, data)
        figures["index_mb"] = round(memory.status().index_bytes / 1e6, 1)
    report_step(json.dumps(figures))
    figures |= real_indexing(data, scratch)
    figures["daemon_mb"] = daemon_mb(root, scratch)
    return figures


def find_states(scratch: Path) -> Path:
    """What keeps the person's state of a memory in this run."""
    return state_home({"XDG_STATE_HOME": str(scratch)}, scratch)


def open_memory(root: MemoryRoot, make_engine: Callable[[ModelFiles], Any]) -> Memory:
    person = PersonSettings(query_log=False)
    return Memory(
        root, person=person, catalogue=catalogue(), now=lambda: dt.datetime.now(dt.UTC), make_engine=make_engine
    )


def make_timed_engine(files: ModelFiles) -> TimedEngine:
    return TimedEngine(OnnxEngine(files))


def questions(corpus: Corpus, words: int, count: int = QUESTIONS) -> list[str]:
    """Words in a row from sampled passages."""
    places = np.linspace(0, len(corpus.passages) - 1, count).astype(int)
    texts = [corpus.passages[place].rstrip(".").split() for place in places]
    return [" ".join(text[number % 40 : number % 40 + words]) for number, text in enumerate(texts)]


def latencies(memory: Memory, corpus: Corpus) -> dict[str, Any]:
    """p50 and p95 of every search, warm."""
    mixed = [text for words in range(1, 9) for text in questions(corpus, words, QUESTIONS // 4)]
    wanted = questions(corpus, 8)

    def recall_first(text: str) -> Answer:
        return memory.pipeline(rerank=False).answer(parse_query(text))

    kinds: dict[str, tuple[Callable[[str], object], Sequence[str]]] = {
        "search_exact": (asking(memory, Search.EXACT), mixed),
        "embed_query": (lambda text: memory.engine().embed([text], as_query=True), wanted),
        "search_memory": (asking(memory, Search.MEANING), wanted),
        "search_memory_filtered": (lambda text: asking(memory, Search.MEANING)(f"{FILTER} {text}"), wanted),
        "recall": (recall_first, wanted),
        "recall_reranked": (asking(memory, Search.RECALL), wanted),
    }
    for ask, texts in kinds.values():
        for text in texts[:5]:
            ask(text)
    taken: dict[str, list[float]] = {name: [] for name in kinds}
    for place in range(max(len(texts) for _, texts in kinds.values())):  # in turn, so that a busy moment hits all
        for name, (ask, texts) in kinds.items():
            if place < len(texts):
                started = time.perf_counter()
                ask(texts[place])
                taken[name].append((time.perf_counter() - started) * 1000)
    return {name: spread(times) for name, times in taken.items()}


def asking(memory: Memory, search: Search) -> Callable[[str], Answer]:
    """A search of a memory as a function of what is typed."""
    return lambda text: memory.search(parse_query(text, search))


def spread(milliseconds: Sequence[float]) -> dict[str, float]:
    p50, p95 = np.percentile(milliseconds, [50, 95])
    return {"p50_ms": round(float(p50), 2), "p95_ms": round(float(p95), 2)}


def overlap(memory: Memory, corpus: Corpus) -> float:
    """How much of the exact ten nearest the semantic arm of `search_memory` finds, filtered and not."""
    shares = []
    arm = SemanticArm(memory.indices.nearest_rows)
    for text in questions(corpus, 8, 40):
        for query in (text, f"{FILTER} {text}"):
            snapshot = memory.indices.snapshot()
            parsed = parse_query(query)
            wanted = None if parsed.filter.is_empty else parsed.filter.find_allowed(snapshot.sources)
            scope = make_scope(snapshot, DEFAULT_LAYERS, None if wanted is None else frozenset(wanted))
            places = np.flatnonzero(scope.mask & (snapshot.passages.vectors >= 0))
            likeness = Likeness(snapshot, memory.embed_query(parsed.text))
            cosines = snapshot.cosines(likeness.question.vector, places)
            best = places[np.argsort(-cosines, kind="stable")[:10]]
            found = arm.find(likeness, scope, 10).places
            shares.append(len(np.intersect1d(found, best)) / max(len(best), 1))
    return round(float(np.mean(shares)), 4)


def save_to_search(memory: Memory) -> float:
    """Median seconds from the end of a save to the first search that finds the new words."""
    indexer = IndexRuns(memory)
    watcher = Watcher(memory, indexer.poke)
    indexer.worker.start()
    watcher.worker.start()
    seconds = []
    try:
        indexer.wait(indexer.poke(), 600)
        for number in range(SAVES + 1):
            word = f"quixotic{number}zebra"
            file = memory.root.topics / "just-saved.md"
            file.write_text(f"# Just saved\n\nThe password of the {word} is in the drawer.\n", encoding="utf-8")
            started = time.monotonic()
            while not asking(memory, Search.EXACT)(word).hits and time.monotonic() - started < 60:
                time.sleep(0.01)
            seconds.append(time.monotonic() - started)
            indexer.wait(indexer.poke(), 60)
        file.unlink()
        indexer.wait(indexer.poke(), 60)
    finally:
        watcher.close()
        indexer.close()
        memory.embedding = EmbeddingControl(memory.embedding.plan)
    report_step(f"saves seen after {', '.join(f'{value:.2f}' for value in seconds)} s; the first loads the model")
    return round(float(np.median(seconds[1:])), 3)


def indexing_ratio(memory: Memory, corpus: Corpus, data: Path) -> float:
    """p95 of `recall` while new files are embedded and indexed, over p95 of the same questions before."""
    texts = questions(corpus, 8)

    def times() -> float:
        started = time.perf_counter()
        asking(memory, Search.RECALL)(texts[len(taken) % len(texts)])
        return (time.perf_counter() - started) * 1000

    taken: list[float] = []
    for _ in range(QUESTIONS):
        taken.append(times())
    idle = float(np.percentile(taken, 95))
    made = []
    for name, text in corpus_files(data, REAL_CHUNKS * WORDS_A_REAL_CHUNK):
        made.append(memory.root.topics / f"real-{name}")
        made[-1].write_text(text, encoding="utf-8")
    run = threading.Thread(target=reindex_until_ended, args=(memory,))
    run.start()
    taken = []
    while run.is_alive() and len(taken) < 2 * QUESTIONS:
        taken.append(times())
    memory.embedding.end()
    run.join()
    memory.embedding = EmbeddingControl(memory.embedding.plan)
    for file in made:
        file.unlink()
    memory.reindex()
    busy = float(np.percentile(taken, 95))
    report_step(f"recall p95 {idle:.1f} ms idle, {busy:.1f} ms while indexing ({len(taken)} questions)")
    return round(busy / idle, 2)


def reindex_until_ended(memory: Memory) -> None:
    with contextlib.suppress(Interrupted):
        memory.reindex()


def real_indexing(data: Path, scratch: Path) -> dict[str, float]:
    """What share of a cold run the embedder has, and how much quicker a rebuild from the cache is."""
    root = MemoryRoot(scratch / "real", find_states(scratch))
    root.topics.mkdir(parents=True)
    root.index_page.write_text("# Memory\n", encoding="utf-8")
    for name, text in corpus_files(data, REAL_CHUNKS * WORDS_A_REAL_CHUNK):
        (root.topics / name).write_text(text, encoding="utf-8")
    with open_memory(root, OnnxEngine) as memory:
        memory.indices.own()
        memory.engine()
        started = time.monotonic()
        cold = memory.reindex()
        cold_seconds = time.monotonic() - started
        started = time.monotonic()
        memory.reindex(rebuild=True)
        warm_seconds = time.monotonic() - started
    report_step(f"{cold.chunks} real chunks: cold {cold_seconds:.1f} s, rebuilt in {warm_seconds:.1f} s")
    return {
        "embedder_share": round(cold.embedding_seconds / cold_seconds, 3),
        "rebuild_speedup": round(cold_seconds / warm_seconds, 1),
    }


def daemon_mb(root: MemoryRoot, scratch: Path) -> float:
    """What a daemon holds that serves this memory, model loaded and searched."""
    variables = {
        **os.environ,
        "ONEIROS_ROOT": str(root.path),
        "XDG_RUNTIME_DIR": str(scratch),
        "XDG_STATE_HOME": str(scratch),
    }
    client = Client(variables, root.path)
    client.start()
    try:
        for _ in range(600):
            if client.ask("GET", "/api/indexing")["runs"]:
                break
            time.sleep(0.5)
        for tool in ("recall", "search", "exact"):
            client.ask("POST", f"/api/{tool}", {"query": "bace dina foha gufo"})
        number = daemon_state(root.state)["pid"]
        assert isinstance(number, int)
        return round(psutil.Process(number).memory_info().rss / 1e6, 1)
    finally:
        subprocess.run(
            [sys.executable, "-c", "from oneiros.cli.main import run; run()", "stop"], env=variables, check=False
        )


def report_step(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
