"""Trains the scorer of dream and measures it on projects that it was not trained on.

    python -m benchmarks.dream_scorer --data DATA --labels FILE --negatives FILE --rules FILE [--json FILE] [--write]

DATA holds the projects that the labels name. Each is left out in turn: everything that is learnt or chosen, threshold
included, is learnt and chosen on the others. What has no label counts as not worth keeping. `--write` trains on all of
them and replaces the weights that the program ships.

The model is linear. Three directions are learnt ahead of the labels and handed to it as features: what tells written
rules of public projects (`--rules`) from what assistants say in passing, and what tells the clauses of
`dream_examples.txt` apart, by their vectors and by their marks. All of it is folded into one weight a feature and one a
dimension of the vector.
"""

import argparse
import datetime as dt
import json
import random
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from benchmarks.dream_beam import SEED
from benchmarks.dream_planted import DECOYS_TUNED, STATEMENTS_TUNED, planted_texts
from benchmarks.dream_real import (
    Labels,
    Project,
    Verdict,
    embed_packaged,
    figures_of,
    is_kept,
    offered,
    source_of,
    take_in,
    verdict_on,
)
from benchmarks.intake import rows
from benchmarks.machine import machine_text
from crawler.outcome import is_reply
from crawler.quotes import quote_of
from crawler.spoken import Spoken
from crawler.transcripts.entry import PartKind
from crawler.transcripts.turns import Role, Turn
from dream.extract.features import ALONE, NAMES, Situation, features_of, situations_in
from dream.extract.finder import Finder, agreed_in, is_candidate
from dream.extract.scorer import WEIGHTS, ClauseModel, ClauseWeights, Embed, Numbers, Scorer
from dream.statements.acts import SILENT, Act, Clause, clauses_in
from memory_server.embedding.catalogue import PACKAGED_MODEL
from memory_server.language.sentences import sentences_in

EXAMPLES = Path(__file__).with_name("dream_examples.txt")
ROUNDS = 2  # of the planted texts among the examples
PENALTY = 2.0  # on the squared weights; half and twice as much change little
AHEAD = 0.5  # how large the directions learnt ahead of the labels are beside the vector
RECALL = 0.5  # of durability 3 that the threshold aims at, on projects left out among those trained on
IN_PASSING = 18  # sentences of the assistant that are drawn from each session
RANGES = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 1.01)  # of chances, for the table of reliability
MIN_SCALE = 0.15  # of a feature: one that hardly ever differs is not blown up


@dataclass(frozen=True, slots=True)
class Set:
    """Clauses to learn from."""

    features: Numbers  # (n, features)
    vectors: Numbers  # (n, d)
    kept: Numbers  # (n,) 0 or 1


@dataclass(frozen=True, slots=True)
class Labelled:
    """The clauses of one project with what labels say of them."""

    project: Project
    clauses: Set
    verdicts: Sequence[Verdict]
    in_passing: Numbers  # vectors of what the assistant said in passing


@dataclass(frozen=True, slots=True)
class Ahead:
    """What is learnt from without labels."""

    rules: Numbers  # vectors of written rules
    examples: Set


def main() -> int:
    arguments = argument_parser().parse_args()
    labels = Labels.read(arguments.labels, arguments.negatives)
    embed = embed_packaged()
    assert embed is not None, "the packaged model is what the weights are made with"
    print(machine_text())
    with tempfile.TemporaryDirectory(prefix="oneiros-scorer-") as folder:
        known = {
            name: labelled(take_in(source_of(arguments.data, name), name, Path(folder)), labels, embed)
            for name in labels.corpora
        }
        ahead = Ahead(embed([row["text"] for row in rows(arguments.rules)]), examples(embed))
        figures = {
            "scorer": left_out(known, ahead, labels, embed, with_vectors=True),
            "features_alone": left_out(known, ahead, labels, None, with_vectors=False),
            "by_length": by_length(known, labels),
        }
        for name, found in figures.items():
            show(name, found)
        if arguments.json:
            arguments.json.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        if arguments.write:
            write(known, ahead, labels)
    return 0


# -- data -----------------------------------------------------------------------------------------------------------


def labelled(project: Project, labels: Labels, embed: Embed) -> Labelled:
    """Everything that the finder would look at in a project."""
    found: list[tuple[Situation, Verdict]] = []
    said: list[str] = []
    dice = random.Random(SEED)  # noqa: S311  a draw, not secrecy
    for session in project.sessions():
        for at in (*situations_in(session), *agreed_in(session)):
            if is_candidate(at.clause):
                quotes = [quote_of(session, at.turn, at.clause.first, at.clause.end)]
                quotes += [quote_of(session, at.answer, 0, len(at.answer.text))] if at.answer else []
                found.append((at, verdict_on(quotes, labels)))
        passing = [
            one for turn in session.turns if is_reply(turn) for one in sentences_in(turn.text) if 20 < len(one) < 200
        ]
        said += dice.sample(passing, min(IN_PASSING, len(passing)))
    verdicts = [verdict for _, verdict in found]
    clauses = Set(
        np.array([features_of(at) for at, _ in found]),
        embed([at.clause.text for at, _ in found]),
        np.array([float(is_kept(verdict)) for verdict in verdicts]),
    )
    return Labelled(project, clauses, verdicts, embed(said))


def examples(embed: Embed) -> Set:
    """The clauses written for training, and the planted texts whose families rules were written on."""
    lines = EXAMPLES.read_text(encoding="utf-8").splitlines()
    written = [(line[2:], line[0] == "+") for line in lines if line[:2] in ("+ ", "- ")]
    families = {True: len(STATEMENTS_TUNED), False: len(DECOYS_TUNED)}
    planted = [
        (one.text, one.is_statement)
        for one in planted_texts(SEED + 1, ROUNDS)
        if one.part == "tuned" and one.family < families[one.is_statement]
    ]
    found = [(situation_of(text), kept) for text, kept in (*written, *planted)]
    told = [(at, kept) for at, kept in found if at]
    return Set(
        np.array([features_of(at) for at, _ in told]),
        embed([at.clause.text for at, _ in told]),
        np.array([float(kept) for _, kept in told]),
    )


def situation_of(text: str) -> Situation | None:
    """An example as if it were a turn of its own; None where it states nothing."""
    question, is_choice, answer = text.partition("? = ")
    if is_choice:
        pair = f'"{question}?"="{answer}"'
        clause = Clause(pair, 0, len(pair), (0, len(pair)), Act.CHOOSES, 0)
        turn = Turn(Role.PERSON, PartKind.RESULT, pair, ("example",))
        return Situation(turn, clause, spoken=Spoken(0, len(pair), question, is_chosen=True))
    first = next((clause for clause in clauses_in(text) if clause.act not in SILENT), None)
    return Situation(Turn(Role.PERSON, PartKind.PROMPT, text, ("example",)), first) if first else None


# -- learning -------------------------------------------------------------------------------------------------------


def fit(inputs: Numbers, kept: Numbers, penalty: float, importance: Numbers | float = 1.0) -> tuple[Numbers, float]:
    """Logistic regression by Newton's method: weights (f,) and bias. The bias is not penalised."""
    design = np.hstack([inputs, np.ones((len(inputs), 1))])
    ridge = np.full(design.shape[1], penalty)
    ridge[-1] = 1e-6
    weights = np.zeros(design.shape[1])
    for _ in range(25):
        chance = 1 / (1 + np.exp(-np.clip(design @ weights, -30, 30)))
        slope = design.T @ (importance * (chance - kept)) + ridge * weights
        curve = (design * (importance * np.maximum(chance * (1 - chance), 1e-6))[:, None]).T @ design + np.diag(ridge)
        step = np.linalg.solve(curve, slope)
        weights -= step
        if np.abs(step).max() < 1e-6:
            break
    return weights[:-1], float(weights[-1])


@dataclass(frozen=True, slots=True)
class Model:
    """ClauseWeights of features and of vectors, and a bias."""

    plain: Numbers
    vector: Numbers
    bias: float

    def scores(self, clauses: Set) -> Numbers:
        return clauses.features @ self.plain + clauses.vectors @ self.vector + self.bias

    def scaled(self, factor: float, shift: float) -> "Model":
        return Model(self.plain * factor, self.vector * factor, self.bias * factor + shift)


def train(known: Sequence[Labelled], ahead: Ahead, *, with_vectors: bool) -> Model:
    """The linear model of these projects."""
    counted = [np.array([verdict.is_counted for verdict in one.verdicts]) for one in known]
    clauses = joined(Set(*(part[keep] for part in (one.clauses.features, one.clauses.vectors, one.clauses.kept)))
                     for one, keep in zip(known, counted, strict=True))  # fmt: skip
    count, dimensions = clauses.features.shape[1], clauses.vectors.shape[1]
    middle, scale = clauses.features.mean(0), np.maximum(clauses.features.std(0), MIN_SCALE)
    alone = np.array([name in ALONE for name in NAMES])

    # directions learnt ahead: each as weights of features (p, count) and of vectors (p, dimensions)
    marks, _ = fit(((ahead.examples.features - middle) / scale)[:, alone], ahead.examples.kept, 10.0)
    of_marks = np.zeros(count)
    of_marks[alone] = marks / scale[alone]
    plains: list[Numbers] = [of_marks]
    vectors: list[Numbers] = [np.zeros(dimensions)]
    if with_vectors:
        passing = np.vstack([one.in_passing for one in known])
        told = np.concatenate([np.ones(len(ahead.rules)), np.zeros(len(passing))])
        evenly = np.where(told > 0, 0.5 / told.mean(), 0.5 / (1 - told.mean()))
        like_rules, _ = fit(np.vstack([ahead.rules, passing]), told, 3.0, evenly)
        like_examples, _ = fit(ahead.examples.vectors, ahead.examples.kept, 0.3)
        plains += [np.zeros(count)] * 2
        vectors += [like_rules, like_examples]
    plain_ahead, vector_ahead = np.array(plains).T, np.array(vectors).T
    directions = clauses.features @ plain_ahead + clauses.vectors @ vector_ahead
    centre, spread = directions.mean(0), directions.std(0)

    # one linear model over features, vectors and directions, then folded into features and vectors alone
    average = clauses.vectors.mean(0)
    inputs = [(clauses.features - middle) / scale / np.sqrt(count), (directions - centre) / spread * AHEAD]
    inputs += [clauses.vectors - average] if with_vectors else []
    weights, bias = fit(np.hstack(inputs), clauses.kept, PENALTY)
    of_features, of_directions, of_vectors = np.split(weights, [count, count + len(spread)])
    of_features = of_features / scale / np.sqrt(count)
    of_directions = of_directions / spread * AHEAD
    nothing: Numbers = np.zeros(dimensions)
    of_vectors = of_vectors if with_vectors else nothing
    return Model(
        of_features + plain_ahead @ of_directions,
        of_vectors + vector_ahead @ of_directions,
        bias - middle @ of_features - centre @ of_directions - average @ of_vectors,
    )


def joined(sets: Iterable[Set]) -> Set:
    every = list(sets)
    return Set(*(np.concatenate([getattr(one, name) for one in every]) for name in ("features", "vectors", "kept")))


Known = Mapping[str, Labelled]


def chosen(known: Known, ahead: Ahead, labels: Labels, *, with_vectors: bool) -> ClauseModel:
    """The model of these projects, calibrated, with its threshold: both on each of them left out in turn."""
    scores = {
        name: train([other for key, other in known.items() if key != name], ahead, with_vectors=with_vectors).scores(
            one.clauses
        )
        for name, one in known.items()
    }
    verdicts = [verdict for name in scores for verdict in known[name].verdicts]
    outside = np.concatenate(list(scores.values()))
    counted = np.array([verdict.is_counted for verdict in verdicts])
    kept = np.array([float(is_kept(verdict)) for verdict in verdicts])
    factor, shift = fit(outside[counted, None], kept[counted], 1e-3)
    model = train(list(known.values()), ahead, with_vectors=with_vectors).scaled(float(factor[0]), shift)
    chances = 1 / (1 + np.exp(-(outside * factor[0] + shift)))
    return ClauseModel(
        bias=round(float(model.bias), 4),
        plain={name: round(float(weight), 4) for name, weight in zip(NAMES, model.plain, strict=True)},
        vector=[round(float(weight), 4) for weight in model.vector] if with_vectors else [],
        threshold=round(threshold_of(chances, verdicts, [known[name] for name in known], labels), 4),
    )


def threshold_of(chances: Numbers, verdicts: Sequence[Verdict], known: Sequence[Labelled], labels: Labels) -> float:
    """The highest chance from which enough of what must surely be kept is offered."""
    corpora = {one.project.corpus for one in known}
    wanted = {row["id"] for row in labels.keep if row["durability"] == 3 and row["corpus"] in corpora}
    found: set[str] = set()
    for place in np.argsort(-chances):
        found |= verdicts[place].labels & wanted
        if len(found) >= RECALL * len(wanted):
            return float(chances[place])
    return 0.5


# -- figures --------------------------------------------------------------------------------------------------------


def left_out(known: Known, ahead: Ahead, labels: Labels, embed: Embed | None, *, with_vectors: bool) -> dict[str, Any]:
    """Each project by a model of the others, through finder, gate and comparison."""
    offers = {}
    told: list[
        tuple[float, bool]
    ] = []  # of every counted clause of a project left out: its chance, and whether it is kept
    for name, one in known.items():
        others = {key: other for key, other in known.items() if key != name}
        model = chosen(others, ahead, labels, with_vectors=with_vectors)
        chances = model.probabilities(one.clauses.features, one.clauses.vectors)
        told += [(p, is_kept(v)) for p, v in zip(chances, one.verdicts, strict=True) if v.is_counted]
        finder = Finder(Scorer(embed, model))
        offers[name] = [(found, verdict_on(found.quotes, labels)) for found in offered(one.project, finder)]
    return figures_of(offers, labels) | {"reliability": reliability(told)}


def reliability(told: Sequence[tuple[float, bool]]) -> list[dict[str, float]]:
    """Of clauses with chances in one range: their mean, and the share that is kept."""
    table = []
    for low, high in pairwise(RANGES):
        inside = [(chance, kept) for chance, kept in told if low <= chance < high]
        if inside:
            chance, kept = (round(float(np.mean(column)), 3) for column in zip(*inside, strict=True))
            table.append({"clauses": len(inside), "chance": chance, "kept": kept})
    return table


def by_length(known: Known, labels: Labels) -> dict[str, Any]:
    """A plain baseline: as many of the longest clauses of each project as the labels name."""
    words = NAMES.index("words")
    found = {}
    for name, one in known.items():
        longest = np.argsort(-one.clauses.features[:, words])[: 2 * len(labels.of(name).keep)]
        counted = [one.verdicts[place] for place in longest if one.verdicts[place].is_counted]
        found[name] = {"offered": len(longest), "precision": round(sum(map(is_kept, counted)) / len(counted), 3)}
    return {"per_project": found}


def show(name: str, figures: Mapping[str, Any]) -> None:
    tables = ("per_project", "calibration", "reliability", "without_label")
    print(f"\n{name}: {json.dumps({key: value for key, value in figures.items() if key not in tables})}")
    for corpus, found in figures["per_project"].items():
        print(f"  {corpus:34} {json.dumps(found)}")
    for row in figures.get("reliability", ()):
        print(f"  {json.dumps(row)}")


def write(known: Known, ahead: Ahead, labels: Labels) -> None:
    """Trains on everything and replaces the shipped weights."""
    made_of = {
        "command": "python -m benchmarks.dream_scorer --write",
        "projects": ", ".join(known),
        "clauses": str(sum(len(one.verdicts) for one in known.values())),
        "examples": str(len(ahead.examples.kept)),
        "rules": str(len(ahead.rules)),
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
    }
    both = ClauseWeights(
        PACKAGED_MODEL,
        made_of,
        chosen(known, ahead, labels, with_vectors=True),
        chosen(known, ahead, labels, with_vectors=False),
    )
    WEIGHTS.write_bytes(msgspec.json.format(msgspec.json.encode(both), indent=1).replace(b",\n   ", b", ") + b"\n")


def argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds the projects")
    parser.add_argument("--labels", type=Path, required=True)
    parser.add_argument("--negatives", type=Path, required=True)
    parser.add_argument("--rules", type=Path, required=True, help="sentences of written rules, as `text` of JSON lines")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--write", action="store_true", help="replace the weights that the program ships")
    return parser


if __name__ == "__main__":
    sys.exit(main())
