"""Learns what a contradiction is, and measures it on chats that nothing was learnt from.

    python -m benchmarks.contradictions --data BEAM --queries beam_updates.jsonl --json FILE
    python -m benchmarks.contradictions --data BEAM --queries beam_updates.jsonl --write

Learnt are the weights of `dream/judge/weights.json`, from pairs of statements in chats of BEAM that were labelled by
reading (`contradiction_pairs.tsv`, which holds places and no text). Each chat is left out in turn: weights and the line
from which something counts as a contradiction come from the other chats alone. What is measured
are the pairs of `benchmarks.dream_beam` in the chat left out; beside it the cosine of whole statements alone.
"""

import argparse
import datetime as dt
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from benchmarks.dream_beam import SEED, Chat, Pair, make_pairs, share
from benchmarks.intake import rows
from benchmarks.machine import machine_text
from dream.judge.contradiction import FILE, Difference, Linear, Sort, Weights, differences, measure_contradiction
from dream.statements.reading import read_statement
from memory_server.embedding.catalogue import find_packaged_model
from memory_server.embedding.onnx_engine import OnnxEngine
from memory_server.language.sentences import sentence_spans
from memory_server.language.words import Rarity

LABELS = Path(__file__).with_name("contradiction_pairs.tsv")
NOTES = Path(__file__).with_name("contradiction_notes.tsv")
WORDS = ("noun", "clause", "same unit", "other unit", "name", "ratio", "announced")
DENIAL = ("denied", "statement", "never")
ALIKE = frozenset({"noun", "clause", *DENIAL})
HARDEST = 8  # differences of a negative pair that are learnt from, the likeliest first
PENALTY = 3.0  # of squared weights, for features of unit spread; 1 and 10 do as well
ROUNDS = 4  # of choosing which difference makes a pair a contradiction, and learning anew
PRECISE = 0.7  # beta of the F measure that draws the line: precision counts for more than recall
DRAWS = 2_000
Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Example:
    """Two statements with all their differences, and which sort of them makes a contradiction, if any."""

    chat: str
    differs: str  # value, denial or none
    found: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class Measured:
    """A pair of BEAM with all differences of its statements."""

    pair: Pair
    found: tuple[Difference, ...]
    known: float  # the score of what is known by its words, whatever was learnt
    cosine: float  # of the two nearest statements
    is_disputed: bool  # drawn as a negative, and a contradiction to who labelled


# -- learning -------------------------------------------------------------------------------------------------------


def learn(examples: Sequence[Example], line: float = 0.0) -> Weights:
    """The weights of both sorts, shifted so that `line` becomes a probability of one half."""
    return Weights({}, _linear(examples, "value", WORDS, line), _linear(examples, "denial", DENIAL, line))


def _linear(examples: Sequence[Example], sort: Sort, names: Sequence[str], line: float) -> Linear:
    """Learns by turns which difference of a positive pair is the one, and what such differences look like."""
    bags = [
        (one.differs == sort, make_rows(one.found, sort, names))
        for one in examples
        if one.differs in (sort, "none") and any(found.sort == sort for found in one.found)
    ]
    every = np.concatenate([bag for _, bag in bags])
    mean, spread = every.mean(axis=0), every.std(axis=0) + 1e-6
    weights = np.array([float(name in ALIKE) for name in names]) / spread  # at first: whatever is most alike
    bias = 0.0
    for _ in range(ROUNDS):
        x = [bag[np.argsort(-(bag @ weights))[: 1 if is_positive else HARDEST]] for is_positive, bag in bags]
        y = [np.full(len(part), float(is_positive)) for part, (is_positive, _) in zip(x, bags, strict=True)]
        scaled = (np.concatenate(x) - mean) / spread
        bias, weights = logistic(scaled, np.concatenate(y))
        weights = weights / spread
        bias -= float(weights @ mean)
    rounded = {name: round(float(weight), 3) for name, weight in zip(names, weights, strict=True)}
    return Linear(round(bias - line, 3), rounded)


def make_rows(found: Iterable[Difference], sort: Sort, names: Sequence[str]) -> Array:
    """The differences of one sort as rows, (differences, names)."""
    return np.array([[one.features[name] for name in names] for one in found if one.sort == sort])


def logistic(x: Array, y: Array) -> tuple[float, Array]:
    """Bias and weights of a logistic regression with a penalty on squared weights, by Newton's method."""
    design = np.column_stack([np.ones(len(x)), x])
    held = np.diag([1e-6, *[PENALTY] * x.shape[1]])
    weights = np.zeros(design.shape[1])
    for _ in range(8):
        p = 1 / (1 + np.exp(-design @ weights))
        gradient = design.T @ (p - y) + held @ weights
        curvature = (design * (p * (1 - p))[:, None]).T @ design + held
        weights = weights - np.linalg.solve(curvature, gradient)
    return float(weights[0]), weights[1:]


def choose_weights(examples: Sequence[Example], measured: Sequence[Measured]) -> Weights:
    """What the examples teach, with the line that is best where each of these chats is left out in turn."""
    scores = left_out(measured, lambda chat: learn(leave_out(examples, chat)))
    return learn(examples, best_line(scores, measured))


def best_line(scores: Sequence[float], measured: Sequence[Measured]) -> float:
    """The log-odds from which the F measure is largest. Negatives that are none to a reader are not counted."""
    sure = [(score, one.pair.is_positive) for score, one in zip(scores, measured, strict=True) if not one.is_disputed]
    ranked = sorted(sure, reverse=True)
    hits, positives, best, line = 0, sum(is_positive for _, is_positive in ranked), 0.0, 0.0
    for place, (score, is_positive) in enumerate(ranked, start=1):
        hits += is_positive
        reached = (1 + PRECISE**2) * hits / (place + PRECISE**2 * positives)
        if reached > best:
            below = ranked[place][0] if place < len(ranked) else 0.0
            best, line = reached, log_odds((score + below) / 2)
    return line


def log_odds(probability: float) -> float:
    return float(np.log(probability / (1 - probability))) if 0 < probability < 1 else 0.0


def leave_out(examples: Sequence[Example], chat: str) -> list[Example]:
    return [one for one in examples if one.chat != chat]


# -- measuring ------------------------------------------------------------------------------------------------------


def left_out(measured: Sequence[Measured], teach: Callable[[str], Weights]) -> list[float]:
    """The score of each pair by what was learnt without its chat."""
    learnt = {chat: teach(chat) for chat in sorted({one.pair.chat for one in measured})}
    return [compute_score(one, learnt[one.pair.chat]) for one in measured]


def compute_score(one: Measured, learnt: Weights) -> float:
    return max([learnt.score(found.sort, found.features) for found in one.found] + [one.known])


def figures(scores: Sequence[float], measured: Sequence[Measured], line: float = 0.5) -> dict[str, Any]:
    """Recall and precision with 95 % intervals over chats and over pairs, average precision, and the curve."""
    truth = np.array([one.pair.is_positive for one in measured])
    flagged = np.array(scores) >= line
    by_chat: dict[str, list[int]] = defaultdict(list)
    for place, one in enumerate(measured):
        by_chat[one.pair.chat].append(place)
    return {
        "recall": share((truth & flagged).sum(), truth.sum()),
        "precision": share((truth & flagged).sum(), flagged.sum()),
        "average_precision": average_precision(scores, truth),
        "over_chats": intervals(truth, flagged, list(by_chat.values())),
        "over_pairs": intervals(truth, flagged, [[place] for place in range(len(truth))]),
        "curve": [point(scores, truth, step / 20) for step in range(1, 20)],
        "missed": [one.pair.id for one, hit in zip(measured, flagged, strict=True) if one.pair.is_positive and not hit],
        "wrong": [
            f"{one.pair.id} {one.pair.later[0]}"
            for one, hit in zip(measured, flagged, strict=True)
            if hit and not one.pair.is_positive
        ],
    }


def point(scores: Sequence[float], truth: NDArray[np.bool_], start: float) -> dict[str, float]:
    flagged = np.array(scores) >= start
    right = (truth & flagged).sum()
    return {"from": start, "recall": share(right, truth.sum()), "precision": share(right, flagged.sum())}


def average_precision(scores: Sequence[float], truth: NDArray[np.bool_]) -> float:
    ranked = truth[np.argsort(-np.array(scores), kind="stable")]
    return round(float((np.cumsum(ranked) / np.arange(1, len(ranked) + 1))[ranked].mean()), 3)


def intervals(
    truth: NDArray[np.bool_], flagged: NDArray[np.bool_], groups: Sequence[Sequence[int]]
) -> dict[str, list[float]]:
    """Where recall and precision lie in 95 of 100 draws of as many groups, with repeats."""
    dice = np.random.default_rng(SEED)
    drawn = []
    for _ in range(DRAWS):
        places = [place for group in dice.integers(len(groups), size=len(groups)) for place in groups[group]]
        t, f = truth[places], flagged[places]
        if t.any() and f.any():
            drawn.append(((t & f).sum() / t.sum(), (t & f).sum() / f.sum()))
    low, high = np.percentile(np.array(drawn), [2.5, 97.5], axis=0)
    return {name: [round(low[at], 2), round(high[at], 2)] for at, name in enumerate(("recall", "precision"))}


# -- data -----------------------------------------------------------------------------------------------------------


def read_examples(chats: dict[str, Chat]) -> Iterator[Example]:
    """The labelled pairs of statements; those that no reader was sure of are left out."""
    for line in LABELS.read_text(encoding="utf-8").splitlines()[1:]:
        chat, *places, differs = line.split("\t")
        if differs != "unclear":
            later, first, end, earlier, its_first, its_end = map(int, places)
            messages = chats[chat].messages
            ours = read_statement(messages[later][first:end], find_sentence(messages[later], first))
            theirs = read_statement(" ".join(messages[earlier][its_first:its_end].split()))
            yield Example(chat, differs, tuple(differences(ours, theirs, Rarity())))


def notes() -> Iterator[Example]:
    """Short statements as topics hold them, with kinds of values that the chats hardly have: ports, paths, versions."""
    for line in NOTES.read_text(encoding="utf-8").splitlines()[1:]:
        earlier, later, differs = line.split("\t")
        found = differences(read_statement(later), read_statement(earlier), Rarity())
        yield Example("notes", differs, tuple(found))


def contradicting_messages() -> set[tuple[str, int, int]]:
    """Chat, later and earlier message of every labelled contradiction."""
    lines = (line.split("\t") for line in LABELS.read_text(encoding="utf-8").splitlines()[1:])
    return {(cells[0], int(cells[1]), int(cells[4])) for cells in lines if cells[7] in ("value", "denial")}


def find_sentence(text: str, place: int) -> str:
    return next((text[first:end] for first, end in sentence_spans(text) if first <= place < end), "")


def measure_pair(chat: Chat, pair: Pair, engine: OnnxEngine, contradicting: set[tuple[str, int, int]]) -> Measured:
    found: list[Difference] = []
    known, cosine = 0.0, 0.0
    nothing = Weights({}, Linear(-99, {}), Linear(-99, {}))
    for candidate, topics in chat.passing(pair):
        ours = read_statement(candidate.text, candidate.context)
        for statement in topics.files[0].statements:
            if ours.context & statement.reading.words:
                found += differences(ours, statement.reading, topics.rarity)
                known = max(known, measure_contradiction(ours, statement.reading, topics.rarity, nothing).score)
                one, other = engine.embed([candidate.text, statement.text])
                cosine = max(cosine, float(one.vector @ other.vector))
    is_disputed = not pair.is_positive and any(
        (chat.name, later, earlier) in contradicting for later in pair.later for earlier in pair.earlier
    )
    return Measured(pair, tuple(found), known, cosine, is_disputed)


def main() -> int:
    """Prints a line a way of judging; writes the weights where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of chats")
    parser.add_argument("--queries", type=Path, required=True, help="beam_updates.jsonl")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--write", action="store_true", help="learn from all chats and write the weights")
    arguments = parser.parse_args()
    files = find_packaged_model()
    assert files, "the packaged model comes with the `offline` extra"
    engine = OnnxEngine(files)
    queries = list(rows(arguments.queries))
    with tempfile.TemporaryDirectory(prefix="oneiros-contradictions-") as folder:
        names = sorted({row["chat"] for row in queries})
        chats = {name: Chat.read(arguments.data / name, Path(folder)) for name in names}
        examples, contradicting = [*read_examples(chats), *notes()], contradicting_messages()
        measured = [
            measure_pair(chat, pair, engine, contradicting)
            for name, chat in chats.items()
            for pair in make_pairs([row for row in queries if row["chat"] == name], chat)
        ]
    print(machine_text())
    scores = outer(examples, measured)
    sure = [place for place, one in enumerate(measured) if not one.is_disputed]
    report = {
        "learnt": figures(scores, measured),
        "learnt, undisputed pairs": figures([scores[place] for place in sure], [measured[place] for place in sure]),
    }
    report["cosine alone"] = figures([one.cosine for one in measured], measured, cosine_line(measured))
    for name, figure in report.items():
        print(name, json.dumps({key: value for key, value in figure.items() if key != "curve"}, indent=1))
        for step in figure["curve"]:
            print(f"  from {step['from']:.2f}  recall {step['recall']:.2f}  precision {step['precision']:.2f}")
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if arguments.write:
        made_of = {
            "command": "python -m benchmarks.contradictions --write",
            "data": f"{len(examples)} pairs of statements in {len(chats)} chats of BEAM 100K, labelled by reading",
            "date": dt.date.today().isoformat(),
        }
        weights = msgspec.structs.replace(choose_weights(examples, measured), made_of=made_of)
        FILE.write_bytes(msgspec.json.format(msgspec.json.encode(weights), indent=1) + b"\n")
    return 0


def outer(examples: Sequence[Example], measured: Sequence[Measured]) -> list[float]:
    """The scores of each chat by weights, penalty and line of the others."""

    def teach(chat: str) -> Weights:
        return choose_weights(leave_out(examples, chat), [one for one in measured if one.pair.chat != chat])

    return left_out(measured, teach)


def cosine_line(measured: Sequence[Measured]) -> float:
    """The cosine from which F1 is best: chosen on all chats, so it flatters."""
    truth = np.array([one.pair.is_positive for one in measured])
    cosines = sorted({one.cosine for one in measured})
    return max(
        cosines,
        key=lambda line: (
            2
            * sum(truth[[one.cosine >= line for one in measured]])
            / (sum(one.cosine >= line for one in measured) + truth.sum())
        ),
    )


if __name__ == "__main__":
    sys.exit(main())
