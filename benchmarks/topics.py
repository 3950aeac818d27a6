"""Whether a topic that answers comes first, and whether topics that do not answer leave sessions alone.

    python -m benchmarks.topics --json FILE

Questions of `topic_questions.jsonl`, each with the topic that answers it, in words that its topic does not use: of the
memory about oneiros that comes with the program (`oneiros init --example`), and of topics made of the labels of real
sessions, a file a project, which stand in one memory with all transcripts of these projects. A question counts where
the first hit is of its topic; `marked` where that hit decides, too; `answered` where its passage holds the answer.
Plain FTS5 over the same passages of topics and the same turns, cut to 800 characters, is asked in the same run.

The questions of the past, `answers.jsonl`, are asked of the same memory with and without those topics: what they lose
is what topics cost that merely share words.
"""

import argparse
import datetime as dt
import json
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.answers import TURN_CHARS, Asked, as_asked, ask_recall, averages, judged, kept_memory, own_words, plain
from benchmarks.layouts import read_lines
from benchmarks.machine import machine_text
from benchmarks.metrics import confidence
from benchmarks.systems import catalogue, model_text, words_query
from crawler.archive.store import Archive
from crawler.archived import ArchivedSessions
from memory_server.document import Layer
from memory_server.memory import Memory
from memory_server.root.paths import MemoryRoot
from memory_server.search.query import parse_query
from memory_server.settings import PersonSettings

QUESTIONS = Path(__file__).parent / "topic_questions.jsonl"
SHIPPED_SET, SHIPPED_MEMORY = "shipped", Path(__file__).parents[1] / "memory"
LABELS = "dream_real/labels.jsonl"
LEAST_DURABILITY = 2  # of a label that a person would keep
SHARES = ("topic_first", "marked", "answered", "silent", "fts5_first")
HARM = ("session_at_1", "answer_at_1", "answer_at_3", "topic_first", "silent")


@dataclass(frozen=True, slots=True)
class TopicQuestion:
    """A question of the file."""

    id: str
    of: str  # the set that it belongs to
    text: str
    topic: str  # the path of the topic that answers it
    must: tuple[tuple[str, ...], ...]  # the answer: a member of every group, plain

    def is_answered_by(self, passage: str) -> bool:
        text = plain(passage)
        return all(any(word in text for word in group) for group in self.must)


def main() -> None:
    """Reads the command line, asks everything, prints the tables and writes the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=Path("../shared/data"), help="the folder of shared data")
    parser.add_argument("--json", type=Path, help="figures to FILE")
    parser.add_argument("--cache", type=Path, default=Path("benchmarks/out/answers"), help="that of benchmarks.answers")
    options = parser.parse_args()
    labels = list(read_lines(options.shared / LABELS))
    questions = read_questions(labels)
    past = [as_asked(row) for row in read_lines(options.shared / "eval" / "answers.jsonl")]
    folders = [(options.shared / project).resolve() for project in dict.fromkeys(row["corpus"] for row in labels)]
    with kept_memory(folders, options.cache.resolve()) as memory:
        without = harm(memory, past)
        with with_topics(memory, topics_of(labels)) as extended:
            rows = [*ask(extended, [one for one in questions if one.of != SHIPPED_SET])]
            added = harm(extended, past)
    with with_topics(None, {}) as shipped:
        rows += ask(shipped, [one for one in questions if one.of == SHIPPED_SET])
    found = figures(rows) | {"past": {"without topics": without, "with topics": added}}
    print_tables(found)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


def read_questions(labels: Sequence[Mapping[str, Any]]) -> list[TopicQuestion]:
    """The questions of what is there; the answer of one that names a label is the label's statement."""
    there = {SHIPPED_SET, *(Path(row["corpus"]).name for row in labels)}
    statements = {row["id"]: ((plain(row["statement"]),),) for row in labels}
    return [
        TopicQuestion(
            row["id"],
            row["set"],
            row["question"],
            row["topic"],
            statements[row["label"]] if "label" in row else tuple(tuple(map(plain, group)) for group in row["must"]),
        )
        for row in read_lines(QUESTIONS)
        if row["set"] in there and row.get("label", "") in {"", *statements}
    ]


def topics_of(labels: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """A topic a project of the statements that a person would keep, a section a type, by its path."""
    projects: dict[str, dict[str, list[str]]] = {}
    for row in labels:
        if row["durability"] >= LEAST_DURABILITY:
            sections = projects.setdefault(row["corpus"].rpartition("/")[2], {})
            sections.setdefault(row["type"], []).append(f"- {row['statement']}\n")
    return {
        f"topics/{name}.md": f"# What holds in {name}\n"
        + "".join(f"\n## {kind.capitalize()}\n\n{''.join(lines)}" for kind, lines in sections.items())
        for name, sections in projects.items()
    }


@contextmanager
def with_topics(memory: Memory | None, topics: Mapping[str, str]) -> Iterator[Memory]:
    """A copy of a memory, or of the one about oneiros where none is given, with more topics, indexed."""
    with tempfile.TemporaryDirectory(prefix="oneiros-topics-") as folder:
        root = MemoryRoot(Path(folder) / "memory", Path(folder) / "state")
        left_out = shutil.ignore_patterns(*((".oneiros",) if memory is None else ("lock", "owner")))
        shutil.copytree(SHIPPED_MEMORY if memory is None else memory.root.path, root.path, ignore=left_out)
        for path, text in topics.items():
            root.topics.mkdir(exist_ok=True)
            (root.path / path).write_text(text, encoding="utf-8")
        root.derived.mkdir(exist_ok=True)
        archive = root.path / "sessions" / "archive"
        person = PersonSettings(embedding_share=1.0, query_log=False)
        store = ArchivedSessions(archive, root.sessions) if archive.is_dir() else None
        now = dt.datetime.now(dt.UTC)
        with Memory(root, person=person, catalogue=catalogue(), now=lambda: now, sessions=store) as opened:
            opened.own()
            opened.reindex()
            yield opened


def ask(memory: Memory, questions: Sequence[TopicQuestion]) -> Iterator[dict[str, Any]]:
    """What the memory, and plain FTS5 over the same texts, answer first to every question."""
    firsts = ask_plain(memory, questions)
    for one, by_words in zip(questions, firsts, strict=True):
        hits = memory.search(parse_query(one.text)).hits
        is_first = bool(hits) and hits[0].path == one.topic
        yield {
            "id": one.id,
            "set": one.of,
            "question": one.text,
            "topic_first": is_first,
            "marked": is_first and hits[0].decides,
            "answered": is_first and one.is_answered_by(hits[0].passage),
            "silent": not hits,
            "fts5_first": by_words == one.topic,
            "first": [f"{hit.path}:{hit.lines}" for hit in hits[:3]],
        }


def ask_plain(memory: Memory, questions: Sequence[TopicQuestion]) -> list[str]:
    """The first path of FTS5 (unicode61, bm25, OR of the words) over passages of topics and turns, cut."""
    texts = []
    for row in memory.indices.ledger.connection.execute(
        "select source.path, chunk.passage from chunk join source on source.id = chunk.source where source.layer = ?",
        (Layer.TOPIC,),
    ):
        texts.append((str(row[0]), str(row[1])))
    archive = Archive(memory.root.path / "sessions" / "archive")
    for session_id in archive.session_ids() if memory.raw is not None else ():
        texts += [(session_id, turn.text[:TURN_CHARS]) for turn in archive.turns(session_id) if turn.text.strip()]
    select = "select rowid from passage where passage match ? order by rank limit 1"
    with sqlite3.connect(":memory:") as connection:
        connection.execute("create virtual table passage using fts5(x, tokenize='unicode61')")
        rows = [(number, text) for number, (_, text) in enumerate(texts)]
        connection.executemany("insert into passage(rowid, x) values(?, ?)", rows)
        found = [connection.execute(select, (words_query(one.text),)).fetchone() for one in questions]
    return [texts[row[0]][0] if row else "" for row in found]


def harm(memory: Memory, past: Sequence[Asked]) -> dict[str, Any]:
    """What the questions of the past get, and how often a topic comes first."""
    archive = Archive(memory.root.path / "sessions" / "archive")
    own = own_words({session_id: list(archive.turns(session_id)) for session_id in archive.session_ids()})
    rows = [judged(one, shown, own) for one, shown in zip(past, ask_recall(memory, past), strict=True)]
    firsts = [memory.search(parse_query(one.text)).hits[:1] for one in past]
    is_topic = [bool(hits) and hits[0].layer is Layer.TOPIC for hits in firsts]
    named = {one.text: hits[0].passage for one, hits, first in zip(past, firsts, is_topic, strict=True) if first}
    return {**averages(rows), "topic_first": fmean(map(float, is_topic)), "topics": named}


def figures(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Shares of all questions and of each set, with the interval of the first."""
    parts = {"all": list(rows)} | {name: [row for row in rows if row["set"] == name] for name in _sets(rows)}
    table = {
        label: {"n": len(part), **{name: fmean(float(row[name]) for row in part) for name in SHARES}}
        | {"marked_interval": confidence([float(row["marked"]) for row in part])}
        for label, part in parts.items()
    }
    return {"machine": machine_text(), "model": model_text(), "parts": table, "questions": list(rows)}


def _sets(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(row["set"] for row in rows))


def print_tables(found: Mapping[str, Any]) -> None:
    """A line a set, then a line each for the questions of the past."""
    print(f"{found['machine']}\nmodel: {found['model']}")
    print(f"{'':<20}{'n':>4}" + "".join(f"{name:>14}" for name in SHARES) + "   marked, 95 %")
    for label, values in found["parts"].items():
        low, high = values["marked_interval"]
        cells = "".join(f"{values[name]:>14.3f}" for name in SHARES)
        print(f"{label:<20}{values['n']:>4}{cells}   {low:.2f} to {high:.2f}")
    print(f"\n{'questions of the past':<24}" + "".join(f"{name:>14}" for name in HARM))
    for label, values in found["past"].items():
        print(f"{label:<24}" + "".join(f"{values[name]:>14.3f}" for name in HARM))


if __name__ == "__main__":
    main()
