"""The memory in a model's hands: what its first call shows, beside what plain searches show in as many characters.

    python -m benchmarks.in_hands --json FILE

The questions are those of `eval/answers.jsonl` in both folders of shared data, and twenty that nothing there answers.
A text holds the answer where it holds, in lower case with white space collapsed, a member of every group of `must`. The
stand-in for a model asks recall the question as it is. What was played (`benchmarks.in_hands_play`) and lies in
`benchmarks/in_hands` is asked again of the program as it is, the other arm's calls as they were.

The memories are those of `benchmarks.answers`, which makes them. Baselines are cut to the same characters: FTS5 over
turns, and FTS5 joined with the packaged model's vectors by reciprocal ranks over the same stretches.
"""

import argparse
import asyncio
import csv
import datetime as dt
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np
from mcp import Client
from mcp.types import TextContent

from benchmarks.answers import content_key, plain
from benchmarks.baselines import TURN_CHARS
from benchmarks.layouts import read_lines
from benchmarks.machine import machine_text
from benchmarks.metrics import confidence, percentile
from benchmarks.systems import catalogue, model_text, words_query
from crawler.archive.store import Archive
from crawler.archived import ArchivedSessions
from memory_server.faces.mcp_server import create_server
from memory_server.memory import Memory
from memory_server.root.paths import MemoryRoot
from memory_server.settings import PersonSettings

SKILLS = "dream_real/entireio-skills"
FOLDERS: Mapping[str, Sequence[str]] = {
    "data": (*(f"transcripts/{name}" for name in ("cipher-box", "entire-cli", "claude-code-log")), SKILLS),
    "data2": ("transcripts", "dream_real"),
}
ABSENT = Path(__file__).parent / "in_hands_absent.jsonl"
RECORDINGS = Path(__file__).parent / "in_hands"
GRADES = "grades.tsv"  # of answers whose words the rule does not know: arm, question, right, why
ABSENT_REPLY = "NOT THERE"  # what a player answers where nothing does
FIRST_CHARS = 2_000
RRF = 60


@dataclass(frozen=True, slots=True)
class PlayedQuestion:
    """A question, and what its answer must hold; nothing where there is none."""

    id: str
    of: str  # the set whose sessions are asked
    project: str
    text: str
    must: tuple[tuple[str, ...], ...]
    trap: str = ""

    def is_answered_by(self, text: str) -> bool:
        held = plain(text)
        return bool(self.must) and all(any(word in held for word in group) for group in self.must)


@dataclass(frozen=True, slots=True)
class Call:
    """One step of a conversation, and what it brought."""

    asked: Any  # tool and arguments, or a command
    text: str


@dataclass(frozen=True, slots=True)
class Played:
    """A conversation about one question."""

    arm: str  # tools or grep
    question: str
    calls: tuple[Call, ...]
    answer: str
    grade: bool | None = None  # of a reader, where the rule does not do


def read_questions(shared: Path) -> list[PlayedQuestion]:
    """All questions: with an answer, by set, then those without."""
    found = []
    for name, folder in (("data", shared / "data"), ("data2", shared / "data2")):
        for row in read_lines(folder / "eval" / "answers.jsonl"):
            must = tuple(tuple(map(plain, group)) for group in row["must"])
            found.append(
                PlayedQuestion(row["id"], name, row["corpus"], row["question"], must, plain(row.get("trap") or ""))
            )
    return found + [PlayedQuestion(row["id"], row["set"], "", row["question"], ()) for row in read_lines(ABSENT)]


def find_home(name: str, shared: Path, cache: Path) -> Path:
    """Where `benchmarks.answers` keeps the memory of a set, or where a copy of it lies by the set's name."""
    if (cache / name / "complete").exists():
        return cache / name
    home = cache / f"{content_key([(shared / name / folder).resolve() for folder in FOLDERS[name]])}-1-rules"
    if not (home / "complete").exists():
        raise SystemExit(f"there is no memory of {name} in {cache}: run benchmarks.answers over {FOLDERS[name]} first")
    return home


@contextmanager
def open_kept(home: Path) -> Iterator[Memory]:
    """A kept memory, beside whoever owns it."""
    root = MemoryRoot(home / "memory", home / "state")
    store = ArchivedSessions(root.path / "sessions" / "archive", root.sessions)
    person, now = PersonSettings(embedding_share=1.0, query_log=False), dt.datetime.now(dt.UTC)
    with Memory(root, person=person, catalogue=catalogue(), now=lambda: now, sessions=lambda: store) as memory:
        yield memory


async def ask_server(client: Client, tool: str, arguments: Mapping[str, Any]) -> str:
    """What the server answers to a call, errors too."""
    result = await client.call_tool(tool, dict(arguments))
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def call_once(memory: Memory, tool: str, arguments: Mapping[str, Any]) -> str:
    """One call of the real server."""

    async def run() -> str:
        async with Client(create_server(memory, "benchmark")) as client:
            return await ask_server(client, tool, arguments)

    return asyncio.run(run())


# -- measuring ------------------------------------------------------------------------------------------------------


def search_fts5(memory: Memory, questions: Sequence[PlayedQuestion]) -> list[str]:
    """The best turns by FTS5 (unicode61, bm25, OR of the words), each cut, up to FIRST_CHARS characters."""
    archive = Archive(memory.root.path / "sessions" / "archive")
    texts = [
        turn.text[:TURN_CHARS] for name in archive.session_ids() for turn in archive.turns(name) if turn.text.strip()
    ]
    with word_index(texts) as find:
        return ["\n".join(texts[place] for place in find(one.text, 10))[:FIRST_CHARS] for one in questions]


def search_rrf(memory: Memory, questions: Sequence[PlayedQuestion]) -> list[str]:
    """The best stretches by FTS5 and by cosine, joined by reciprocal ranks, up to FIRST_CHARS characters."""
    assert memory.stretches is not None
    snapshot, ledger = memory.stretches.snapshot(), memory.stretches.ledger
    rows = [int(row) for row in snapshot.passages.rows]
    chunks = ledger.chunks(rows)
    texts, vectors = [chunks[row].passage for row in rows], snapshot.read_vectors(np.arange(len(rows)))
    found = []
    with word_index(texts) as find:
        for one in questions:
            near = np.argsort(-(vectors @ memory.embed_query(one.text).vector))[:100]
            scores: dict[int, float] = {}
            for ranking in (find(one.text, 100), map(int, near)):
                for rank, place in enumerate(ranking, start=1):
                    scores[place] = scores.get(place, 0.0) + 1 / (RRF + rank)
            best = sorted(scores, key=lambda place: -scores[place])[:10]
            found.append("\n".join(texts[place] for place in best)[:FIRST_CHARS])
    return found


@contextmanager
def word_index(texts: Sequence[str]) -> Iterator[Any]:
    """What finds the places of some texts by the words of a question."""
    with sqlite3.connect(":memory:") as connection:
        connection.execute("create virtual table item using fts5(x, tokenize='unicode61')")
        connection.executemany("insert into item(rowid, x) values(?, ?)", list(enumerate(texts)))

        def find(text: str, limit: int) -> list[int]:
            select = "select rowid from item where item match ? order by rank limit ?"
            words = words_query(text)
            return [row for (row,) in connection.execute(select, (words, limit))] if words else []

        yield find


def ask_recall(memory: Memory, questions: Sequence[PlayedQuestion], **arguments: Any) -> list[str]:
    """What the server answers to each question, unchanged."""

    async def run() -> list[str]:
        async with Client(create_server(memory, "benchmark")) as client:
            return [await ask_server(client, "recall", {"query": one.text, **arguments}) for one in questions]

    return asyncio.run(run())


def count_figures(questions: Sequence[PlayedQuestion], texts: Sequence[str]) -> dict[str, Any]:
    """How many first texts hold the answer, how long they are, and how often a trap stands before the answer."""
    pairs = [(one, text) for one, text in zip(questions, texts, strict=True) if one.must]
    held = [float(one.is_answered_by(text)) for one, text in pairs]
    lengths = [len(text) for _, text in pairs]
    absent = [text for one, text in zip(questions, texts, strict=True) if not one.must]
    return {
        "n": len(held),
        "held": fmean(held),
        "interval": confidence(held),
        "characters": median(lengths),
        "most_characters": max(lengths),
        "absent": len(absent),
        "absent_said": fmean(text.startswith(("Nowhere", "Nothing")) for text in absent) if absent else 0.0,
        "absent_characters": median(map(len, absent)) if absent else 0,
        "trap_first": sum(is_trapped(one, text) for one, text in pairs),
        "traps": sum(bool(one.trap) for one, _ in pairs),
    }


def is_trapped(one: PlayedQuestion, text: str) -> bool:
    """Whether an older or wrong state is shown, and the answer nowhere before it."""
    held = plain(text)
    place = held.find(one.trap) if one.trap else -1
    return place >= 0 and not one.is_answered_by(held[:place])


def read_recordings(folder: Path) -> list[Played]:
    """What was played, each conversation as it was."""
    talks: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for file in sorted(folder.glob("*.jsonl*")):
        for row in read_lines(file):
            talks.setdefault((row["arm"], row["question"]), []).append(row)
    graded = (folder / GRADES).read_text(encoding="utf-8").splitlines() if (folder / GRADES).exists() else []
    grades = {(row["arm"], row["question"]): row["right"] == "1" for row in csv.DictReader(graded, delimiter="\t")}
    return [
        Played(
            arm,
            question,
            tuple(Call(row["call"], row["text"]) for row in rows if "call" in row),
            next((str(row["answer"]) for row in rows if "answer" in row), ""),
            grades.get((arm, question)),
        )
        for (arm, question), rows in talks.items()
    ]


def replay(memory: Memory, played: Played) -> Played:
    """A conversation with the server, its calls asked again of a memory; the other arm's as they were."""
    calls = [replace(one, text=call_once(memory, one.asked["tool"], one.asked["arguments"])) for one in played.calls]
    return replace(played, calls=tuple(calls))


def count_talks(talks: Sequence[Played], questions: Mapping[str, PlayedQuestion]) -> dict[str, Any]:
    """What conversations of one arm cost, and what came of them.

    `calls` and `characters` are all that were spent before the answer was given, those `until_held` up to the text that
    holds the answer, or all.
    """
    answerable = [one for one in talks if questions[one.question].must]
    absent = [one for one in talks if not questions[one.question].must]
    held = [
        next(
            (number for number, call in enumerate(one.calls, 1) if questions[one.question].is_answered_by(call.text)), 0
        )
        for one in answerable
    ]
    until = [one.calls[: number or None] for one, number in zip(answerable, held, strict=True)]
    first = [float(number == 1) for number in held]
    return {
        "n": len(answerable),
        "right": fmean(is_right(one, questions[one.question]) for one in answerable),
        "first_call": fmean(first),
        "first_call_interval": confidence(first),
        "ever": fmean(map(bool, held)),
        **_spent("", [one.calls for one in answerable]),
        **_spent("_until_held", until),
        "absent": len(absent),
        "absent_known": fmean(is_right(one, questions[one.question]) for one in absent) if absent else 0.0,
        **_spent("_absent", [one.calls for one in absent]),
    }


def _spent(what: str, talks: Sequence[Sequence[Call]]) -> dict[str, Any]:
    """Median and ninetieth percentile of calls and characters, and the sum of these."""
    calls, characters = ([size(one) for one in talks] for size in (len, _characters))
    found = {f"calls{what}": calls, f"characters{what}": characters}
    shares = {name: [percentile(values, share) for share in (0.5, 0.9)] for name, values in found.items() if values}
    return {**shares, f"characters{what}_sum": sum(characters)}


def _characters(calls: Sequence[Call]) -> int:
    return sum(len(call.text) for call in calls)


def is_right(played: Played, one: PlayedQuestion) -> bool:
    """Whether the answer is right: as it was graded where it was, else by the words that it must hold."""
    if not one.must:
        return played.answer.startswith(ABSENT_REPLY)
    return one.is_answered_by(played.answer) if played.grade is None else played.grade


def measure(shared: Path, cache: Path) -> dict[str, Any]:
    """All figures of one run."""
    questions, recorded = read_questions(shared), read_recordings(RECORDINGS)
    by_id = {one.id: one for one in questions}
    texts: dict[str, dict[str, str]] = {"recall": {}, "recall, include_raw": {}, "fts5": {}, "rrf": {}}
    again: list[Played] = []
    for name in FOLDERS:
        own = [one for one in questions if one.of == name]
        with open_kept(find_home(name, shared, cache)) as memory:
            found = [ask_recall(memory, own), ask_recall(memory, own, include_raw=True)]
            found += [search_fts5(memory, own), search_rrf(memory, own)]
            again += [replay(memory, one) for one in recorded if one.arm == "tools" and by_id[one.question].of == name]
        for found_texts, run in zip(texts.values(), found, strict=True):
            found_texts.update(zip((one.id for one in own), run, strict=True))
    parts = {"all": questions} | {
        project: [one for one in questions if one.project == project]
        for project in dict.fromkeys(one.project for one in questions)
    }
    table = {
        label: {system: count_figures(part, [run[one.id] for one in part]) for system, run in texts.items()}
        for label, part in parts.items()
        if any(one.must for one in part)
    }
    arms = {arm: [one for one in recorded if one.arm == arm] for arm in ("tools", "grep")} | {"tools, today": again}
    talks = {arm: count_talks(found, by_id) for arm, found in arms.items() if found}
    return {"machine": machine_text(), "model": model_text(), "parts": table, "recordings": talks, "texts": texts}


def main() -> None:
    """Reads the command line, asks everything, prints the tables and writes the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="figures to FILE")
    parser.add_argument("--shared", type=Path, default=Path("../shared"), help="the folder of both sets of shared data")
    parser.add_argument("--cache", type=Path, default=Path("benchmarks/out/answers"), help="that of benchmarks.answers")
    options = parser.parse_args()
    found = measure(options.shared.resolve(), options.cache.resolve())
    print_tables(found)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


def print_tables(found: Mapping[str, Any]) -> None:
    """A line for each system and part, then one for each arm of the recordings."""
    print(f"{found['machine']}\nmodel: {found['model']}")
    for label, systems in found["parts"].items():
        for system, row in systems.items():
            cells = [f"held {row['held']:.3f} ({row['interval'][0]:.2f} to {row['interval'][1]:.2f})"]
            cells += [f"characters {row['characters']:.0f}, at most {row['most_characters']}"]
            cells += [f"trap first {row['trap_first']} of {row['traps']}"]
            if row["absent"]:
                cells += [f"absent said {row['absent_said']:.2f} of {row['absent']} in {row['absent_characters']:.0f}"]
            print(f"{label.rpartition('/')[2]:<20}{system:<21}{row['n']:>4}  {'  '.join(cells)}")
    for arm, row in found["recordings"].items():
        print(f"recorded, {arm}: {row}")


if __name__ == "__main__":
    main()
