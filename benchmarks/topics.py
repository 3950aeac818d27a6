"""Whether a topic that answers comes first, and whether topics that do not answer leave sessions alone.

    python -m benchmarks.topics [--strangers ../shared/data2] --json FILE

Questions of `topic_questions.jsonl`, each with the topic that answers it, in words that its topic does not use: of the
memory about oneiros that comes with the program (`oneiros init --example`), and of topics made of the labels of real
sessions, a file a project, which stand in one memory with all transcripts of these projects; a label has the questions
of the recorded line that rests on the same words. With `--strangers` those of `benchmarks.strangers` too: of the memory
that holds all strangers of a folder of data, and (`in own`) as each of them would ask, of their own projects alone.

A question counts where the first hit is of its topic; `marked` where that hit decides, too; `answered` where its
passage holds the answer; `ranked` where the topic is the first of the topics, wherever sessions stand. In the same run
plain FTS5 is asked, over the passages of topics and the turns cut to 800 characters, and the packaged model with FTS5
by reciprocal ranks (`rrf`), over the passages of topics and the stretches of what was said.

The questions of the past, `answers.jsonl`, are asked of the same memory with and without those topics: what they lose
is what topics cost that merely share words. `foreign`: a topic comes first that holds no statement of the session in
which the answer lies.
"""

import argparse
import datetime as dt
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.answers import (
    LabelledQuestion,
    ask_recall,
    averages,
    judge,
    open_cached_memory,
    own_words,
    parse_question,
    plain,
)
from benchmarks.baselines import ask_plain
from benchmarks.layouts import read_lines
from benchmarks.machine import machine_text
from benchmarks.metrics import confidence
from benchmarks.strangers import HELD_OUT, STRANGERS, ReadQuestions, accept_sure_offers, topics_saying
from benchmarks.strangers import QUESTIONS as STRANGER_QUESTIONS
from benchmarks.systems import catalogue, model_text
from crawler.archive.store import Archive
from crawler.archived import ArchivedSessions
from dream.proposals.questions import ApprovedQuestions
from dream.proposals.store import ProposalStore
from memory_server.document import Layer
from memory_server.index.build import NoQuestions, StatementQuestions
from memory_server.machine.files import replace_file
from memory_server.memory import Memory
from memory_server.root.paths import MemoryRoot
from memory_server.search.question import build_filter, parse_query
from memory_server.settings import PersonSettings
from oneiros.founding import EXAMPLE_QUESTIONS

QUESTIONS = Path(__file__).parent / "topic_questions.jsonl"
STRANGER, OWN = "stranger ", "own of "  # before the name of a stranger: asked of all, of their own projects
SHIPPED_SET, SHIPPED_MEMORY = "shipped", Path(__file__).parents[1] / "memory"
LABELS = "dream_real/labels.jsonl"
LEAST_DURABILITY = 2  # of a label that a person would keep
SHARES = ("topic_first", "marked", "answered", "ranked", "silent", "fts5_first", "rrf_first")
HARM = ("session_at_1", "answer_at_1", "answer_at_3", "topic_first", "foreign", "silent")


@dataclass(frozen=True, slots=True)
class TopicQuestion:
    """A question of the file."""

    id: str
    of: str  # the set that it belongs to
    text: str
    topics: tuple[str, ...]  # the path of the topic that answers it; several where each does
    must: tuple[tuple[str, ...], ...]  # the answer: a member of every group, plain
    projects: tuple[str, ...] = ()  # of which alone it is asked; empty: of all

    def is_answered_by(self, passage: str) -> bool:
        text = plain(passage)
        return all(any(word in text for word in group) for group in self.must)


def main() -> None:
    """Reads the command line, asks everything, prints the tables and writes the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=Path("../shared/data"), help="the folder of shared data")
    parser.add_argument("--strangers", type=Path, help="a second folder of shared data, to ask strangers' questions")
    parser.add_argument("--no-keys", action="store_true", help="without the questions that statements answer")
    parser.add_argument("--json", type=Path, help="figures to FILE")
    parser.add_argument("--cache", type=Path, default=Path("benchmarks/out/answers"), help="that of benchmarks.answers")
    options = parser.parse_args()
    labels = list(read_lines(options.shared / LABELS))
    questions = read_questions(labels)
    folders = [(options.shared / project).resolve() for project in dict.fromkeys(row["corpus"] for row in labels)]
    rows: list[dict[str, Any]] = []
    past: dict[str, Any] = {}
    with open_cached_memory(folders, options.cache.resolve()) as memory:
        past_questions = [parse_question(row) for row in read_lines(options.shared / "eval" / "answers.jsonl")]
        past["without topics"] = harm(memory, past_questions, {})
        keys = NoQuestions if options.no_keys else partial(ReadQuestions, labels)
        with with_topics(memory, make_topics(labels), keys) as extended:
            rows += ask(extended, [one for one in questions if one.of != SHIPPED_SET])
            sessions_by_statement = {plain(row["statement"]): row["session"] for row in labels}
            past["topics of labels"] = harm(extended, past_questions, sessions_by_statement)
        if options.strangers:
            with with_strangers(memory, keyless=options.no_keys) as extended:
                rows += ask_strangers(extended)
                past["strangers"] = harm(extended, past_questions, sessions_accepted(extended))
    if options.strangers:
        folders = [(options.strangers / folder).resolve() for folder in ("transcripts", "dream_real")]
        with (
            open_cached_memory(folders, options.cache.resolve()) as memory,
            with_strangers(memory, keyless=options.no_keys) as extended,
        ):
            past_questions = [parse_question(row) for row in read_lines(options.strangers / "eval" / "answers.jsonl")]
            rows += ask_strangers(extended)
            past["others without topics"] = harm(memory, past_questions, {})
            past["others, strangers"] = harm(extended, past_questions, sessions_accepted(extended))
    with (
        copy_memory(None) as root,
        open_indexed(root, NoQuestions if options.no_keys else partial(ApprovedQuestions, root)) as shipped,
    ):
        rows += ask(shipped, [one for one in questions if one.of == SHIPPED_SET])
    found = figures(rows) | {"past": past}
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
            (row["topic"],),
            statements[row["label"]] if "label" in row else tuple(tuple(map(plain, group)) for group in row["must"]),
        )
        for row in read_lines(QUESTIONS)
        if row["set"] in there and row.get("label", "") in {"", *statements}
    ]


def make_topics(labels: Sequence[Mapping[str, Any]]) -> dict[str, str]:
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
def with_topics(
    memory: Memory, topics: Mapping[str, str], questions: Callable[[], StatementQuestions] = NoQuestions
) -> Iterator[Memory]:
    """A copy of a memory with more topics, indexed."""
    with copy_memory(memory) as root:
        for path, text in topics.items():
            root.topics.mkdir(exist_ok=True)
            (root.path / path).write_text(text, encoding="utf-8")
        with open_indexed(root, questions) as opened:
            yield opened


@contextmanager
def with_strangers(memory: Memory, *, keyless: bool) -> Iterator[Memory]:
    """A copy of a memory with what strangers would accept of its sessions; `keyless`: without questions."""
    with copy_memory(memory) as root:
        accept_sure_offers(root)
        with open_indexed(root, NoQuestions if keyless else partial(ApprovedQuestions, root)) as opened:
            yield opened


@contextmanager
def copy_memory(memory: Memory | None) -> Iterator[MemoryRoot]:
    """A copy of a memory, or of the one about oneiros, opened by nobody."""
    with tempfile.TemporaryDirectory(prefix="oneiros-topics-") as folder:
        root = MemoryRoot(Path(folder) / "memory", Path(folder) / "state")
        left_out = shutil.ignore_patterns(*((".oneiros",) if memory is None else ("lock", "owner")))
        shutil.copytree(SHIPPED_MEMORY if memory is None else memory.root.path, root.path, ignore=left_out)
        root.derived_folder.mkdir(exist_ok=True)
        if memory is None:
            replace_file(root.questions, (SHIPPED_MEMORY / EXAMPLE_QUESTIONS).read_bytes())
        yield root


@contextmanager
def open_indexed(root: MemoryRoot, questions: Callable[[], StatementQuestions]) -> Iterator[Memory]:
    """The memory of a root, level with the disk."""
    archive, now = root.path / "sessions" / "archive", dt.datetime.now(dt.UTC)
    with Memory(
        root,
        person=PersonSettings(embedding_share=1.0, query_log=False),
        catalogue=catalogue(),
        now=lambda: now,
        sessions=(lambda: ArchivedSessions(archive, root.sessions)) if archive.is_dir() else None,
        questions=questions,
    ) as opened:
        opened.own()
        opened.reindex()
        yield opened


def ask_strangers(memory: Memory) -> Iterator[dict[str, Any]]:
    """The questions that topics of this memory answer: of all that it holds, then of the asker's projects alone."""
    plainly = []
    for row in read_lines(STRANGER_QUESTIONS):
        if topics := topics_saying(memory.root, row["statements"]):
            must = (tuple(map(plain, row["statements"])),)
            plainly.append(TopicQuestion(row["id"], f"{STRANGER}{row['set']}", row["question"], topics, must))
    yield from ask(memory, plainly)
    for one in plainly:
        name = one.of.removeprefix(STRANGER)
        yield from ask(memory, [replace(one, of=f"{OWN}{name}", projects=STRANGERS[name])])


def sessions_accepted(memory: Memory) -> dict[str, str]:
    """The session of each statement that was accepted, by its words."""
    approvals = [one for one in ProposalStore(memory.root).approvals() if one.quotes]
    return {plain(one.text): one.quotes[0].session_id for one in approvals}


def ask(memory: Memory, questions: Sequence[TopicQuestion]) -> Iterator[dict[str, Any]]:
    """What the memory, and the plain baselines over the same texts, answer first to every question."""
    firsts = ask_plain(memory, {one.id: one.text for one in questions if not one.projects})
    for one in questions:
        question = parse_query(one.text, beside=build_filter({"project": one.projects}))
        hits, topic = memory.search(question).hits, memory.search(question.of_layers(Layer.TOPIC)).hits[:1]
        is_first = bool(hits) and hits[0].path in one.topics
        by_words, by_ranks = firsts.get(one.id, ("", ""))
        yield {
            "id": one.id,
            "set": one.of,
            "question": one.text,
            "topic_first": is_first,
            "marked": is_first and hits[0].decides,
            "answered": is_first and one.is_answered_by(hits[0].passage),
            "ranked": bool(topic) and topic[0].path in one.topics,
            "silent": not hits,
            "fts5_first": by_words in one.topics,
            "rrf_first": by_ranks in one.topics,
            "first": [f"{hit.path}:{hit.lines}" for hit in hits[:3]],
        }


def harm(memory: Memory, past: Sequence[LabelledQuestion], sessions_by_statement: Mapping[str, str]) -> dict[str, Any]:
    """What the questions of the past get, and how often a topic comes first.

    `sessions_by_statement`: the session of each statement of the topics, by its plain words.
    """
    archive = Archive(memory.root.path / "sessions" / "archive")
    own = own_words(archive)
    rows = [judge(one, shown, own) for one, shown in zip(past, ask_recall(memory, past), strict=True)]
    firsts = [memory.search(parse_query(one.text)).hits[:1] for one in past]
    is_topic = [bool(hits) and hits[0].layer is Layer.TOPIC for hits in firsts]
    named = {one.text: hits[0].passage for one, hits, first in zip(past, firsts, is_topic, strict=True) if first}

    def is_foreign(one: LabelledQuestion) -> bool:
        passage = plain(named.get(one.text, ""))
        sessions = {session for statement, session in sessions_by_statement.items() if statement in passage}
        return one.text in named and one.session not in sessions

    shares = {"topic_first": fmean(map(float, is_topic)), "foreign": fmean(float(is_foreign(one)) for one in past)}
    return {**averages(rows), **shares, "topics": named}


def figures(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Shares of all questions and of each set, with the interval of the first."""
    parts = {
        "topic questions": [row for row in rows if not row["set"].startswith((STRANGER, OWN))],
        "strangers": [row for row in rows if row["set"].startswith(STRANGER)],
        "of them held out": [row for row in rows if row["set"] in {f"{STRANGER}{name}" for name in HELD_OUT}],
        "strangers, in own": [row for row in rows if row["set"].startswith(OWN)],
        "own, held out": [row for row in rows if row["set"] in {f"{OWN}{name}" for name in HELD_OUT}],
    } | {name: [row for row in rows if row["set"] == name] for name in _sets(rows)}
    parts = {label: part for label, part in parts.items() if part}
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
