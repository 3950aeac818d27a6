"""How far sure, likely and perhaps can be believed, and the curves behind them.

    python -m benchmarks.certainty --cache FOLDER --rows ROWS.jsonl [--learn]

Asked are the memories of `benchmarks.answers` (data and data2): the questions of `answers.jsonl`, plainly and within
their project, and those that nothing there answers; the same once more beside the topics of real labels and, with
`--strangers`, beside what these would accept; and the questions that topics answer, of `benchmarks.topics`. Right is
a first hit that holds the answer, or is of the topic that does. A topic that comes first and holds another statement
of the session in which the answer lies is left out: it answers as often as not, in other words.

`--learn` takes the rows of an earlier run from ROWS, leaves each project out of both curves in turn, and shows for each
bound what is called likely on what was left out; and the curves of all, which `memory_server/search/certainty.py` has.
"""

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.answers import LabelledQuestion, parse_question, plain
from benchmarks.in_hands import ABSENT, find_home, open_kept
from benchmarks.layouts import read_lines
from benchmarks.machine import machine_text
from benchmarks.strangers import QUESTIONS as STRANGER_QUESTIONS
from benchmarks.strangers import ReadQuestions, topics_saying
from benchmarks.systems import model_text
from benchmarks.topics import (
    LABELS,
    SHIPPED_SET,
    TopicQuestion,
    copy_memory,
    make_topics,
    open_indexed,
    read_questions,
    sessions_accepted,
    with_strangers,
    with_topics,
)
from dream.proposals.questions import ApprovedQuestions
from memory_server.document import Answer, Layer
from memory_server.memory import Memory
from memory_server.search.certainty import SESSION_WEIGHTS, TOPIC_WEIGHTS, choose_certainty, compute_features
from memory_server.search.question import Question, build_filter, parse_query

MORE_ABSENT = Path(__file__).parent / "absent.jsonl"
ANSWERED, UNANSWERED, OF_TOPIC = "answered", "unanswered", "topic"  # kinds of questions
SIXTY = (SHIPPED_SET, "labels")  # memories of the sixty questions of `benchmarks.topics`
RIDGE = 2.0  # of the fit, in units of standard deviations
BOUNDS = (0.4, 0.45, 0.5, 0.54, 0.57, 0.6, 0.65, 0.7, 0.8, 0.87, 0.9)


@dataclass(frozen=True, slots=True)
class Judged:
    """The first hit of one answer."""

    memory: str
    kind: str
    project: str
    question: str
    layer: str
    features: Mapping[str, float]
    certainty: str  # as it is called; empty where nothing was found
    decides: bool
    is_right: bool
    each_word: float = 1.0


def main() -> None:
    """Asks or reads the rows, and prints what they say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--cache", type=Path, default=Path("benchmarks/out/answers"), help="that of benchmarks.answers")
    parser.add_argument("--rows", type=Path, required=True, help="JSON lines, written, or read by --learn")
    parser.add_argument("--strangers", action="store_true", help="beside what strangers would accept, too")
    parser.add_argument("--learn", action="store_true")
    options = parser.parse_args()
    print(f"{machine_text()}\nmodel: {model_text()}")
    if not options.learn:
        with options.rows.open("w", encoding="utf-8") as file:
            for row in ask_all(options.shared.resolve(), options.cache.resolve(), strangers=options.strangers):
                print(json.dumps(asdict(row)), file=file, flush=True)
    rows = [Judged(**row) for row in read_lines(options.rows)]
    print("as the program calls them")
    print_words(rows)
    if options.learn:
        chances = learn(rows)
        print_bounds(rows, chances)
        print("as the curves of the others call them, each project left out")
        words = [
            choose_certainty(Layer(row.layer), one, row.each_word) if row.layer else ""
            for row, one in zip(rows, chances, strict=True)
        ]
        print_words([replace(row, certainty=word) for row, word in zip(rows, words, strict=True)])


# -- asking ---------------------------------------------------------------------------------------------------------


def ask_all(shared: Path, cache: Path, *, strangers: bool) -> Iterator[Judged]:
    """The first hits of all memories."""
    labels = list(read_lines(shared / "data" / LABELS))
    of_topics = read_questions(labels)
    sessions_by_statement = {plain(row["statement"]): row["session"] for row in labels}
    with copy_memory(None) as root, open_indexed(root, lambda: ApprovedQuestions(root)) as memory:
        yield from ask_topics(memory, SHIPPED_SET, [one for one in of_topics if one.of == SHIPPED_SET])
    for name in ("data", "data2"):
        with open_kept(find_home(name, shared, cache)) as memory:
            yield from ask_past(memory, name, shared, {})
            if name == "data":
                with with_topics(memory, make_topics(labels), lambda: ReadQuestions(labels)) as beside:
                    yield from ask_topics(beside, "labels", [one for one in of_topics if one.of != SHIPPED_SET])
                    yield from ask_past(beside, name, shared, sessions_by_statement)
            if not strangers:
                continue
            with with_strangers(memory, keyless=False) as beside:
                yield from ask_topics(beside, f"strangers of {name}", list(stranger_questions(beside)))
                yield from ask_past(beside, name, shared, sessions_accepted(beside))


def stranger_questions(memory: Memory) -> Iterator[TopicQuestion]:
    for row in read_lines(STRANGER_QUESTIONS):
        if topics := topics_saying(memory.root, row["statements"]):
            must = (tuple(map(plain, row["statements"])),)
            yield TopicQuestion(row["id"], row["set"], row["question"], topics, must)


def ask_topics(memory: Memory, name: str, questions: Sequence[TopicQuestion]) -> Iterator[Judged]:
    for one in questions:
        answer = memory.search(parse_query(one.text))
        is_right = bool(answer.hits) and answer.hits[0].path in one.topics
        yield judge(answer, name, OF_TOPIC, one.of, one.text, is_right=is_right)


def ask_past(memory: Memory, name: str, shared: Path, sessions_by_statement: Mapping[str, str]) -> Iterator[Judged]:
    """What was said in sessions, asked plainly and within its project, and what was not."""
    label = f"{name} beside topics" if sessions_by_statement else name
    for row in read_lines(shared / name / "eval" / "answers.jsonl"):
        one, project = parse_question(row), Path(row["corpus"]).name
        for question in build_questions(memory, one, project):
            answer = memory.search(question)
            if is_of_session(answer, one, sessions_by_statement):
                continue
            is_right = bool(answer.hits) and one.is_answered_by(answer.hits[0].passage)
            yield judge(answer, label, ANSWERED, project, one.text, is_right=is_right)
    for row in (*read_lines(ABSENT), *read_lines(MORE_ABSENT)):
        if row["set"] == name:
            answer = memory.search(parse_query(row["question"]))
            yield judge(answer, label, UNANSWERED, UNANSWERED, row["question"], is_right=False)


def build_questions(memory: Memory, one: LabelledQuestion, project: str) -> Iterator[Question]:
    """A question, and the same of its project alone, whose sessions lie in a folder that ends in its name."""
    yield parse_query(one.text)
    known = {source.project for source in memory.stretches.snapshot().sources.values()} if memory.stretches else set()
    if names := [name for name in known if name and (name in project or project in name)]:
        yield parse_query(one.text, beside=build_filter({"project": names}))


def is_of_session(answer: Answer, one: LabelledQuestion, sessions_by_statement: Mapping[str, str]) -> bool:
    """Whether a topic comes first that holds something else that was said where the answer lies."""
    if not answer.hits or answer.hits[0].layer is not Layer.TOPIC:
        return False
    passage = plain(answer.hits[0].passage)
    sessions = {session for statement, session in sessions_by_statement.items() if statement in passage}
    return one.session in sessions and not one.is_answered_by(passage)


def judge(answer: Answer, memory: str, kind: str, project: str, question: str, *, is_right: bool) -> Judged:
    if not answer.hits:
        return Judged(memory, kind, project, question, "", {}, "", decides=False, is_right=False)
    hit = answer.hits[0]
    features = {} if answer.is_doubtful else compute_features(hit, answer)
    each_word = hit.parts.get("each_word", 1.0)
    return Judged(memory, kind, project, question, hit.layer, features, hit.certainty, hit.decides, is_right, each_word)


# -- what the rows say ----------------------------------------------------------------------------------------------


def print_words(rows: Sequence[Judged]) -> None:
    """How often each word is right, and what of each kind of questions has one."""
    for word in ("sure", "likely", "perhaps"):
        called = [row for row in rows if row.certainty == word]
        parts = ", ".join(
            f"{kind} {sum(row.is_right for row in part)} of {len(part)}"
            for kind in (ANSWERED, OF_TOPIC, UNANSWERED)
            if (part := [row for row in called if row.kind == kind])
        )
        print(f"  {word:<8}right {share(row.is_right for row in called):.3f} of {len(called)}: {parts}")
    groups = dict.fromkeys((row.memory, row.kind) for row in rows)
    for memory, kind in groups:
        of = [row for row in rows if (row.memory, row.kind) == (memory, kind)]
        called = [row for row in of if row.certainty in ("sure", "likely")]
        right = [row for row in of if row.is_right]
        share_called = share(row in called for row in right)
        marked = share(row in called and row.is_right and row.layer == Layer.TOPIC for row in of)
        shares = f"of these said {share_called:.3f}  topic first and said {marked:.3f}"
        counts = f"said {len(called) / len(of):.3f}  first right {len(right) / len(of):.3f}"
        print(f"  {memory:<21}{kind:<11}{len(of):>4}  {counts}  {shares}")


def share(values: Iterable[bool]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else 0.0


def learn(rows: Sequence[Judged]) -> list[float]:
    """The chance of each row by the curves of all other projects; 0 where nothing is judged. Prints those of all."""
    chances = [0.0] * len(rows)
    for shipped, is_topic in ((TOPIC_WEIGHTS, True), (SESSION_WEIGHTS, False)):
        own = [place for place, row in enumerate(rows) if row.features and (row.layer == Layer.TOPIC) is is_topic]
        names = [name for name in shipped if name != "bias"]
        table = np.array([[rows[place].features[name] for name in names] for place in own])
        right = np.array([rows[place].is_right for place in own], dtype=float)
        parts = np.array([rows[place].project for place in own])
        for part in dict.fromkeys(parts.tolist()):
            weights = fit_curve(table[parts != part], right[parts != part])
            for place in np.flatnonzero(parts == part).tolist():
                chances[own[place]] = chance(weights, table[place])
        learnt = dict(zip(["bias", *names], np.round(fit_curve(table, right), 2).tolist(), strict=True))
        print(f"{'topics' if is_topic else 'what was said'}, {len(own)}: {learnt}, shipped {dict(shipped)}")
    return chances


def print_bounds(rows: Sequence[Judged], chances: Sequence[float]) -> None:
    """What each bound would call likely on what was left out, and how far the chances can be believed."""
    unanswered, total = sum(row.kind == UNANSWERED for row in rows), sum(row.is_right for row in rows)
    print("from a chance on: right, of how many; share of the right ones; share of the unanswered")
    for bound in BOUNDS:
        called = [row for row, found in zip(rows, chances, strict=True) if found >= bound]
        topics = sum(row.is_right and row.layer == Layer.TOPIC and row.memory in SIXTY for row in called)
        print(
            f"  {bound:.2f} {share(row.is_right for row in called):.3f} of {len(called):<4}"
            f"{sum(row.is_right for row in called) / total:.3f}  "
            f"{sum(row.kind == UNANSWERED for row in called) / unanswered:.3f}  of the 60 topics {topics / 60:.3f}"
        )
    for low, high in pairwise(np.linspace(0, 1, 11)):
        if inside := [row for row, found in zip(rows, chances, strict=True) if row.layer and low <= found < high]:
            print(
                f"  chance {low:.1f} to {high:.1f}: right {share(row.is_right for row in inside):.2f} of {len(inside)}"
            )


def fit_curve(table: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """The bias and weights of a logistic curve (f + 1,) over features (n, f), by Newton's method with a ridge."""
    middle, spread = table.mean(axis=0), np.maximum(table.std(axis=0), 1e-9)
    scaled = np.column_stack([np.ones(len(table)), (table - middle) / spread])
    ridge = np.diag([0.0, *[RIDGE] * table.shape[1]])
    weights = np.zeros(scaled.shape[1])
    for _ in range(50):
        found = 1 / (1 + np.exp(-scaled @ weights))
        slope = scaled.T @ (found - right) + ridge @ weights
        weights -= np.linalg.solve((scaled * (found * (1 - found))[:, None]).T @ scaled + ridge, slope)
    plainly = weights[1:] / spread
    return np.array([weights[0] - plainly @ middle, *plainly])


def chance(weights: NDArray[np.float64], features: NDArray[np.float64]) -> float:
    """Of a row of features (f,), by a bias and weights (f + 1,)."""
    return float(1 / (1 + np.exp(-weights[0] - weights[1:] @ features)))


if __name__ == "__main__":
    main()
