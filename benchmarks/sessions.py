"""How well sessions are found again, from genuine transcripts through the whole ingest to the shipped MCP tools.

    python -m benchmarks.sessions --data ../shared/data/transcripts --queries ../shared/data/eval/commit_queries.jsonl \
        --json out.json

Every transcript is ingested, compressed and indexed in a temporary memory. Entries that the queries mask are taken out
of the transcripts before, the union over all queries, so no system sees them. A right answer is a session; for an
identifier in a sub-agent's file its parent counts too.
"""

import argparse
import asyncio
import datetime as dt
import json
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp import Client

from benchmarks.layouts import Case, Question, read_lines
from benchmarks.machine import machine_text
from benchmarks.metrics import averages, percentile
from benchmarks.systems import HIT_LINE, LIMIT, Run, ask_fts5, cache_vectors, catalogue, model_text
from crawler.archive.append import IngestSettings
from crawler.archive.store import Archive
from crawler.archived import ArchivedSessions
from crawler.closed import ClosedWhen
from crawler.facts import gather_facts
from crawler.ingest import ingest
from crawler.reading.record import FOLDER, Readings
from crawler.transcripts.transcript import open_transcript
from memory_server.faces.mcp_server import create_server
from memory_server.layers.sessions import newest_files, read_session
from memory_server.memory import Memory
from memory_server.reading import find_archived_session
from memory_server.root.paths import MemoryRoot
from memory_server.settings import PersonSettings

SYSTEMS: Mapping[str, tuple[str, bool]] = {  # name -> the tool and whether it is asked for the turns too
    "recall": ("recall", True),
    "recall_compressed": ("recall", False),
    "search_memory": ("search_memory", False),
    "search_exact": ("search_exact", True),
}
NO_CORPUS = ("-fixtures", "negatives")  # ends of folder names that the queries do not speak of
LONG_SESSION = 20_000  # characters; shorter sessions do not count for the share of their digests


@dataclass(frozen=True, slots=True)
class SessionQuestion:
    """A query of a file, with what answers it and what must be taken out first."""

    question: Question
    same: frozenset[str]  # sessions that count as the right one
    corpus: str


def main() -> None:
    """Reads the command line, builds the memory, asks everything, prints the table and writes the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="a folder of transcripts, plain or .xz")
    parser.add_argument("--queries", type=Path, required=True, help="commit_queries.jsonl or exact_transcripts.jsonl")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--digests-alone", action="store_true", help="without the index of what was said")
    parser.add_argument("--vectors", type=Path, default=Path("benchmarks/out/vectors"), help="keeps vectors")
    options = parser.parse_args()
    options.vectors.mkdir(parents=True, exist_ok=True)

    rows = read_lines(options.queries)
    questions = [parse_question(row) for row in rows]
    masks = read_masks(rows)
    print(machine_text())
    print(f"model: {model_text()}; queries: {options.queries.name}")
    with tempfile.TemporaryDirectory(prefix="oneiros-sessions-") as folder:
        live, root = Path(folder, "live"), MemoryRoot(Path(folder, "memory"), Path(folder, "state"))
        files, masked = copy_transcripts(corpus_folders(options.data, rows), live, masks)
        print(f"{files} transcripts; {masked} masked lines taken out, the union over {len(rows)} queries")
        with build_memory(live, root, options.vectors.resolve(), raw_vectors=not options.digests_alone) as memory:
            share = compressed_share(root)
            runs = asyncio.run(ask_all(memory, questions))
            runs["fts5"] = ask_fts5(make_case(root, questions))
    print(f"characters of compressed sessions: {share:.4f} of those of all turns")
    print_tables(questions, runs)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        found = figures(options.queries.stem, questions, runs) | {
            "compressed_token_share": share,
            "masked_lines": masked,
        }
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


def parse_question(row: Mapping[str, Any]) -> SessionQuestion:
    question = Question(row["id"], row["query"], row.get("kind", "commit"), frozenset(row["answer_sessions"]))
    return SessionQuestion(
        question, frozenset([*row["answer_sessions"], *row.get("entry_session_ids", ())]), row["corpus"]
    )


def read_masks(rows: Sequence[Mapping[str, Any]]) -> dict[str, set[int]]:
    """For each session the lines, from 1, that any query masks."""
    masks: dict[str, set[int]] = {}
    for row in rows:
        for mask in row.get("mask", ()):
            masks.setdefault(mask["session"], set()).add(mask["line"])
    return masks


def corpus_folders(data: Path, rows: Sequence[Mapping[str, Any]]) -> list[Path]:
    """The folders that the queries speak of: the one they name, else all that are no fixtures."""
    named = {row["corpus"].removeprefix("transcripts/") for row in rows}
    if all((data / name).is_dir() for name in named):
        return [data / name for name in sorted(named)]
    folders = [path for path in sorted(data.iterdir()) if path.is_dir() and not path.name.endswith(NO_CORPUS)]
    return folders or [data]


def copy_transcripts(folders: Sequence[Path], target: Path, masks: Mapping[str, set[int]]) -> tuple[int, int]:
    """Copies transcripts, unpacked and without the masked lines; returns how many files and how many lines left out."""
    files = masked = 0
    for folder in folders:
        for path in sorted(path for path in folder.rglob("*") if path.name.endswith((".jsonl", ".jsonl.xz"))):
            copy = target / folder.name / path.relative_to(folder).with_name(path.name.removesuffix(".xz"))
            copy.parent.mkdir(parents=True, exist_ok=True)
            hidden = masks.get(copy.stem, set())
            with open_transcript(path) as source, copy.open("wb") as stream:
                for number, line in enumerate(source, start=1):
                    if number not in hidden:
                        stream.write(line)
            files, masked = files + 1, masked + len(hidden)
    return files, masked


@contextmanager
def build_memory(live: Path, root: MemoryRoot, vectors: Path, *, raw_vectors: bool = True) -> Iterator[Memory]:
    """A memory into which all transcripts below a folder were taken, indexed."""
    root.derived_folder.mkdir(parents=True)
    root.index_page.write_text("# Memory\n", encoding="utf-8")
    archive = root.path / "sessions" / "archive"
    now = dt.datetime.now(dt.UTC)
    settings = IngestSettings(archive, root.derived_folder / "sessions.db")
    started = time.perf_counter()
    report = ingest(
        [live], settings, root.sessions, Readings(root.sessions.parent / FOLDER), ClosedWhen(now, idle_hours=0)
    )
    taken = time.perf_counter() - started
    person = PersonSettings(embedding_share=1.0, query_log=False, raw_vectors=raw_vectors)
    store = ArchivedSessions(archive, root.sessions)
    with (
        cache_vectors(root, vectors),
        Memory(root, person=person, catalogue=catalogue(), now=lambda: now, sessions=lambda: store) as memory,
    ):
        memory.indices.own()
        memory.reindex()
        print(f"{report.ingest.entries} entries in {len(report.ingest.sessions)} sessions; ingest {taken:.1f} s")
        yield memory


def compressed_share(root: MemoryRoot) -> float:
    """Characters of all compressed bodies over characters of all turns, for sessions of some length."""
    archive = Archive(root.path / "sessions" / "archive")
    bodies = turns = 0
    for session_id, path in newest_files(root.sessions).items():
        chars = gather_facts(list(archive.turns(session_id))).chars
        if chars >= LONG_SESSION:
            bodies, turns = bodies + len(read_session(path).body), turns + chars
    return bodies / max(turns, 1)


async def ask_all(memory: Memory, questions: Sequence[SessionQuestion]) -> dict[str, Run]:
    """Every query to every system."""
    newest = newest_files(memory.root.sessions)
    session_of = {str(memory.root.relative(path)): session_id for session_id, path in newest.items()}
    runs = {name: Run() for name in SYSTEMS}
    async with Client(create_server(memory, "benchmark")) as client:
        await client.call_tool("recall", {"query": "warm up", "include_raw": True})
        for name, run in runs.items():
            tool, include_raw = SYSTEMS[name]
            for one in questions:
                started = time.perf_counter()
                arguments = {"query": one.question.text, "limit": LIMIT, "include_raw": include_raw}
                answer = await client.call_tool(tool, arguments)
                run.milliseconds.append((time.perf_counter() - started) * 1_000)
                run.failures += bool(answer.is_error)
                text = "\n".join(block.text for block in answer.content if block.type == "text")
                paths = [match["path"] for line in text.splitlines() if (match := HIT_LINE.match(line))]
                named = [find_archived_session(session_of.values(), path) for path in paths]
                sessions = [session_of.get(path) or name or path for path, name in zip(paths, named, strict=True)]
                run.units[one.question.id] = canonical(sessions, one)
    return runs


def canonical(sessions: Sequence[str], one: SessionQuestion) -> list[str]:
    """A ranking of sessions in which every one that counts as the right one has its name."""
    right = min(one.question.evidence)
    return list(dict.fromkeys(right if name in one.same else name for name in sessions))


def make_case(root: MemoryRoot, questions: Sequence[SessionQuestion]) -> Case:
    """The same sessions as whole texts, for the plain baseline."""
    archive = Archive(root.path / "sessions" / "archive")
    case = Case("sessions", questions=[one.question for one in questions])
    for session_id in archive.session_ids():
        turns = archive.turns(session_id)
        case.units[session_id] = "\n".join(f"{turn.arguments}\n{turn.text}" for turn in turns)
    return case


def figures(dataset: str, questions: Sequence[SessionQuestion], runs: Mapping[str, Run]) -> dict[str, Any]:
    """All figures as one JSON object, in the shape of `benchmarks.retrieval`."""
    return {
        "dataset": dataset,
        "n": len(questions),
        "systems": {name: system_figures(run, questions) for name, run in runs.items()},
        "queries": [
            {
                "id": one.question.id,
                "kind": one.question.kind,
                "evidence": sorted(one.question.evidence),
                "hits": {name: run.units[one.question.id] for name, run in runs.items()},
            }
            for one in questions
        ],
    }


def system_figures(run: Run, questions: Sequence[SessionQuestion]) -> dict[str, Any]:
    """One system's averages, times and failures; `hit@1` besides, since an exact search must be right at once."""
    rankings = [run.units[one.question.id] for one in questions]
    first = sum(
        bool(found[:1]) and found[0] in one.question.evidence for found, one in zip(rankings, questions, strict=True)
    )
    return {
        **averages(rankings, [one.question.evidence for one in questions]),
        "hit@1": first / max(len(questions), 1),
        "p50_ms": percentile(run.milliseconds, 0.5),
        "p95_ms": percentile(run.milliseconds, 0.95),
        "failures": run.failures,
    }


def print_tables(questions: Sequence[SessionQuestion], runs: Mapping[str, Run]) -> None:
    """All queries, then the even and the odd ones: tuning looked at the even ones alone."""
    names = ["hit@1", "hit@5", "hit@10", "recall@10", "mrr", "p50_ms", "p95_ms"]
    for label, part in (("all", questions), ("even (tuned on)", questions[::2]), ("odd (held out)", questions[1::2])):
        print(f"\n{label}: {len(part)} queries\n{'':<26}" + "".join(f"{name:>11}" for name in names))
        for system, run in runs.items():
            values = system_figures(run, part)
            print(f"  {system:<24}" + "".join(f"{values[name]:>11.3f}" for name in names))


if __name__ == "__main__":
    main()
