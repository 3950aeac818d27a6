"""Whether a change of the program leaves every answer as it was: 500 questions of each search, saved and compared.

    python -m benchmarks.same_answers save --memory /tmp/same/memory --file /tmp/same/answers.json
    python -m benchmarks.same_answers compare --memory /tmp/same/memory --file /tmp/same/answers.json

The memory is made of genuine transcripts and documents where there is none yet, and kept. Questions are asked of the
REST routes, whose keys are a contract: the same file runs on both sides of a change. A hit is its place, layer, score,
marks and, beside the rounded score, what every part contributed in full.
"""

import argparse
import datetime as dt
import json
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from benchmarks.layouts import read_any, read_lines
from benchmarks.machine import machine_text
from benchmarks.sessions import build_memory, copy_transcripts
from benchmarks.systems import catalogue
from crawler.archived import ArchivedSessions
from memory_server.faces.rest import create_api
from memory_server.memory import Memory
from memory_server.root.paths import MemoryRoot
from memory_server.settings import PersonSettings
from oneiros.daemon.index_runs import IndexRuns
from oneiros.ingest.typed_lines import build_recorder

ROUTES = ("recall", "search", "exact")
EACH = 500  # questions of each search
TYPED = 60  # besides, of recall by type
TYPES = ("decision", "lesson", "preference", "fact")
TRANSCRIPTS = ("cipher-box", "entire-cli")
PROJECT = "cipher-box"
MAX_DOC_BYTES = 4_000
EVERY = 4  # a topic repeats what every so many sessions say, so that layers answer the same
SETS = ("answers", "commit_queries", "exact_transcripts", "exact_docs", "docs_queries")
COMPARED = ("id", "path", "first_line", "last_line", "layer", "score", "decides", "replaced_by", "more_lines")
NOON = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)


def main() -> None:
    """Reads the command line, builds the memory if need be, and saves or compares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("save", "compare"))
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="the evaluation data")
    parser.add_argument("--memory", type=Path, required=True, help="where the memory is kept")
    parser.add_argument("--file", type=Path, required=True, help="where the answers are kept")
    options = parser.parse_args()
    print(machine_text())
    root = MemoryRoot(options.memory, options.memory / ".state")
    if not root.index_page.exists():
        build(root, options.data)
    started = time.perf_counter()
    answers = ask_all(root, questions(options.data))
    print(f"{len(answers)} questions asked in {time.perf_counter() - started:.0f} s")
    if options.what == "save":
        options.file.write_text(json.dumps(answers, indent=1), encoding="utf-8")
    else:
        sys.exit(compare(json.loads(options.file.read_text(encoding="utf-8")), answers))


# -- the memory -----------------------------------------------------------------------------------------------------


def build(root: MemoryRoot, data: Path) -> None:
    """A memory of sessions, of documents as topics and references, and of topics that repeat what sessions say."""
    live, vectors = root.path.with_name("live"), root.path.with_name("vectors")
    shutil.rmtree(live, ignore_errors=True)
    vectors.mkdir(parents=True, exist_ok=True)
    copy_transcripts([data / "transcripts" / name for name in TRANSCRIPTS], live, {})
    documents = [file for file in sorted((data / "docs").rglob("*.md*")) if len(read_any(file)) <= MAX_DOC_BYTES]
    with build_memory(live, root, vectors.resolve()) as memory:
        for number, file in enumerate(documents):
            folder = root.references if number % 2 else root.topics
            write(folder / file.parent.name / f"{file.name.removesuffix('.xz').removesuffix('.md')}.md", read_any(file))
        for number, session in enumerate(sorted(root.sessions.rglob("*.md"))[::EVERY]):
            lines = [line for line in session.read_text(encoding="utf-8").splitlines() if line.startswith("- ")][:6]
            date = "2020-01-01" if number % 3 == 0 else "2026-02-01"
            head = f"---\ntitle: What was learnt {number}\nmodified: {date}T00:00:00Z\n---\n\n"
            write(root.topics / "learnt" / f"{number}.md", head + "\n".join(lines) + "\n")
        memory.reindex()
        build_recorder(memory).bring_level()
        print(f"{memory.status().passages} passages of {dict(memory.status().sources)}")


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


# -- the questions --------------------------------------------------------------------------------------------------


def questions(data: Path) -> list[dict[str, Any]]:
    """The bodies of all requests, each with its route: the texts of five sets in turn, and what can be said of them."""
    texts = list(read_texts(data))
    found = []
    for route in ROUTES:
        for number in range(EACH):
            text = texts[number % len(texts)]
            found.append({"route": route, **vary(choose_words(text) if route == "exact" else text, number, route)})
    for number in range(TYPED):
        found.append({"route": "recall", "query": texts[number * 5], "type": TYPES[number % len(TYPES)]})
    return found


def read_texts(data: Path) -> Iterator[str]:
    rows = [read_lines(data / "eval" / f"{name}.jsonl") for name in SETS]
    for place in range(max(map(len, rows))):
        for of_set in rows:
            if place < len(of_set):
                yield str(of_set[place].get("question") or of_set[place]["query"])


def choose_words(text: str) -> str:
    """What an exact search may be asked of a question: an identifier as it is, else its two longest words."""
    words = text.split()
    return text if len(words) < 3 else " ".join(sorted(words, key=lambda word: (-len(word), word))[:2])


def vary(text: str, number: int, route: str) -> dict[str, Any]:
    """A question with filters, phrases, operators, limits and turns mixed in, by its number."""
    words = text.split()
    ways: tuple[dict[str, Any], ...] = (
        {"query": text},
        {"query": text},
        {"query": f"layer:topic {text}"},
        {"query": f"layer:session {text}", "per_source": 3},
        {"query": f'project:"{PROJECT}" {text}', "limit": 25},
        {"query": f"{text} after:2026-01-20"},
        {"query": text, "include_raw": True},
        {"query": f"layer:raw {text}", "per_source": 2},
        {"query": f'"{" ".join(words[:2])}" {" ".join(words[2:])}'},
        {"query": f"{text} NOT {words[0][::-1]} NOT test"},
        {"query": " OR ".join(words[:4])},
        {"query": f"{words[0][:4]}* {' '.join(words[1:])}", "limit": 3},
        {"query": f"layer:reference {text}"},
        {"query": f"layer:session layer:raw {text}", "per_source": 5, "limit": 100},
        {"query": f"tag:nothing {text}"},
        {"query": text, "project": PROJECT} if route == "recall" else {"query": f"machine:none {text}"},
        {"query": text, "per_source": 10, "limit": 30},
    )
    return ways[number % len(ways)]


# -- the answers ----------------------------------------------------------------------------------------------------


def ask_all(root: MemoryRoot, wanted: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Every question with its answer."""
    store = ArchivedSessions(root.path / "sessions" / "archive", root.sessions)
    person = PersonSettings(embedding_share=1.0, query_log=False)
    with Memory(root, person=person, catalogue=catalogue(), now=lambda: NOON, sessions=lambda: store) as memory:
        memory.indices.own()
        if memory.is_of_another_format():
            memory.reindex()
        api = create_api(memory, IndexRuns(memory), "benchmark", on_stop=lambda: None, on_restart=lambda: None)
        with TestClient(api) as client:
            return [{"asked": one, "answer": ask(client, one)} for one in wanted]


def ask(client: TestClient, question: Mapping[str, Any]) -> dict[str, Any]:
    """The hits of an answer with what is compared of them; or the error."""
    body = {"explain": True, **{key: value for key, value in question.items() if key != "route"}}
    found = client.post(f"/api/{question['route']}", json=body).json()
    if "error" in found:
        return {"error": found["error"]["what"]}
    scores = found["scores"]
    hits = [
        {key: hit[key] for key in COMPARED} | {"parts": {k: round(v, 6) for k, v in scores.get(hit["id"], {}).items()}}
        for hit in found["hits"]
    ]
    return {"hits": hits, "note": found["note"], "terms": found["terms"], "confidence": round(found["confidence"], 6)}


def compare(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> int:
    """Prints how many answers are the same, typed ones apart, and the first that are not; 1 where any differs."""
    if [one["asked"] for one in before] != [one["asked"] for one in after]:
        print("the questions differ: save them anew")
        return 2
    different = 0
    for route in (*ROUTES, "recall by type"):
        pairs = [pair for pair in zip(before, after, strict=True) if name_kind(pair[0]) == route]
        moved = [pair for pair in pairs if pair[0]["answer"] != pair[1]["answer"]]
        hits = sum(bool(one["answer"].get("hits")) for one, _ in pairs)
        print(f"{route:<16}{len(pairs) - len(moved):>5} of {len(pairs)} the same; {hits} with hits")
        for old, new in moved[:5]:
            print(f"  {old['asked']}\n    before {describe(old)}\n    after  {describe(new)}")
        different += len(moved) if route in ROUTES else 0
    return int(different > 0)


def name_kind(one: Mapping[str, Any]) -> str:
    return "recall by type" if one["asked"].get("type") else str(one["asked"]["route"])


def describe(one: Mapping[str, Any]) -> str:
    answer = one["answer"]
    hits = [f"{hit['path']}:{hit['first_line']} {hit['score']}" for hit in answer.get("hits", ())]
    return f"{answer.get('error') or answer['note']!r} {hits[:6]}"


if __name__ == "__main__":
    main()
