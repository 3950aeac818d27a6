"""Whether sentence vectors tell a contradiction from a mere likeness better than words do.

    python -m benchmarks.dream_vectors --data BEAM --queries beam_updates.jsonl

The pairs of `benchmarks.dream --format beam`, of the tuned chats alone. Each pair's score is that of the rules, joined
with the cosine of the packaged model between the two clauses whose values are left out: mixed in by a weight, or as a
veto below a cosine. Printed are average precision, and the best precision at a recall of .60 or more.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.dream_beam import TOPIC, Chat, Pair, entry_of, pairs_of, topic_text, tuned_part
from benchmarks.intake import rows
from benchmarks.machine import machine_text
from dream.judge.contradiction import contradiction_of
from dream.statements.reading import ClauseReading, StatementReading, read_statement
from dream.topics import topics_of
from memory_server.embedding.engine import Engine, Vectors
from memory_server.embedding.model import packaged_model
from memory_server.embedding.onnx_engine import OnnxEngine

WEIGHTS = (0.25, 0.5, 0.75)
VETOES = (0.3, 0.4, 0.5, 0.6)
MIN_RECALL = 0.6
Join = Callable[[float, float], float]  # the score of the rules and a cosine, as one score


@dataclass(frozen=True, slots=True)
class Scored:
    """One pair: for every two statements of it the score of the rules and the cosine."""

    is_positive: bool
    scores: tuple[tuple[float, float], ...]


def main() -> int:
    """Prints one line a way of joining."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of chats")
    parser.add_argument("--queries", type=Path, required=True, help="beam_updates.jsonl")
    arguments = parser.parse_args()
    files = packaged_model()
    assert files, "the packaged model comes with the `offline` extra"
    with tempfile.TemporaryDirectory(prefix="oneiros-vectors-") as folder:
        scored = list(scored_pairs(arguments.data, arguments.queries, Path(folder), Cosines(OnnxEngine(files))))
    print(machine_text())
    for name, join in ways():
        average, precision, recall = judged(scored, join)
        print(f"{name:18} average precision {average:.3f}  precision {precision:.3f} at recall {recall:.3f}")
    return 0


def ways() -> Iterator[tuple[str, Join]]:
    """Every way of joining rules and cosine, by name."""
    yield "rules alone", mixed(0.0)
    for weight in WEIGHTS:
        yield f"mixed in by {weight}", mixed(weight)
    for least in VETOES:
        yield f"veto below {least}", vetoed(least)


def mixed(weight: float) -> Join:
    def join(score: float, cosine: float) -> float:
        return (1 - weight) * score + weight * cosine

    return join


def vetoed(least: float) -> Join:
    def join(score: float, cosine: float) -> float:
        return score if cosine >= least else 0.0

    return join


class Cosines:
    """Compares clauses by the model; each is embedded once."""

    def __init__(self, engine: Engine):
        self._engine = engine
        self._vectors: dict[str, Vectors] = {}

    def between(self, one: StatementReading, other: StatementReading) -> float:
        """The best cosine of two clauses, without their values: what they are about."""
        ours, theirs = ([self._vector(without_values(c)) for c in reading.clauses] for reading in (one, other))
        return max((float(a @ b) for a in ours for b in theirs), default=0.0)

    def _vector(self, text: str) -> Vectors:
        if text not in self._vectors:
            self._vectors[text] = self._engine.embed([text])[0].vector
        return self._vectors[text]


def without_values(clause: ClauseReading) -> str:
    text = clause.text
    for value in sorted(clause.values, key=lambda value: -value.first):
        text = f"{text[: value.first]}...{text[value.end :]}"
    return text


def scored_pairs(data: Path, queries: Path, folder: Path, cosines: Cosines) -> Iterator[Scored]:
    every = list(rows(queries))
    for name in sorted(tuned_part({row["chat"] for row in every})):
        chat = Chat.read(data / name, folder)
        for pair in pairs_of([row for row in every if row["chat"] == name], chat):
            yield Scored(pair.is_positive, tuple(_scores(pair, chat, cosines)))


def _scores(pair: Pair, chat: Chat, cosines: Cosines) -> Iterator[tuple[float, float]]:
    topics = topics_of({TOPIC: topic_text(chat.messages[number] for number in pair.earlier)})
    for number in pair.later:
        for candidate in chat.candidates.get(entry_of(chat.name, number), ()):
            ours = read_statement(candidate.text, candidate.context)
            for statement in topics.files[0].statements:
                against = contradiction_of(ours, statement.reading, topics.rarity)
                if against.score:
                    yield against.score, cosines.between(ours, statement.reading)


def judged(scored: Sequence[Scored], join: Join) -> tuple[float, float, float]:
    """Average precision; the best precision at enough recall, and that recall."""
    best = [(max((join(*pair) for pair in one.scores), default=0.0), one.is_positive) for one in scored]
    positives = sum(is_positive for _, is_positive in best)
    ranked = sorted((one for one in best if one[0] > 0), key=lambda one: (-one[0], one[1]))
    hits, average, point = 0, 0.0, (0.0, 0.0)
    for place, (_, is_positive) in enumerate(ranked, start=1):
        hits += is_positive
        average += is_positive * hits / place
        if hits / positives >= MIN_RECALL:
            point = max(point, (hits / place, hits / positives))
    return average / positives, *point


if __name__ == "__main__":
    sys.exit(main())
