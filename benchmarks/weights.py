"""Learns the weights by which recall reranks on one part of the data and reads them on the other.

Half of every set is for learning: every second conversation of LoCoMo, every second chat of BEAM, every second question
on the documents. A coordinate search raises the mean, over the sets, of recall@5, recall@10 and MRR of that half; both
parts are printed for the weights that are shipped and for those that were found. There is no floor here: what silence
costs is the matter of `benchmarks.silence`.

    python -m benchmarks.weights --data ../shared/data --json out.json
"""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np

from benchmarks.layouts import Case, load_cases
from benchmarks.machine import machine_text
from benchmarks.metrics import averages
from benchmarks.systems import built_memory, model_text
from memory_server.memory import Memory
from memory_server.search.query import parse_query
from memory_server.search.ranking.scoring import RERANK_WEIGHTS, Places, Scores, fused, shared_in_line

SETS = (("locomo", "locomo", None), ("beam", "beam", None), ("docs", "docs", "eval/docs_queries.jsonl"))
STEPS = (0.5, 0.7, 1.4, 2.0)  # factors tried on one weight at a time
LEAST_GAIN = 0.0005  # below it a step is noise
AIMS = ("recall@5", "recall@10", "mrr")


@dataclass(frozen=True, slots=True)
class Pool:
    """The passages that were reranked for one question."""

    is_learnt_on: bool
    evidence: frozenset[str]
    units: Sequence[str]  # of each passage
    lines: Places  # a number for each line
    features: Mapping[str, Scores]

    def ranking(self, weights: Mapping[str, float]) -> list[str]:
        """The units in the order that the weights give, best first."""
        scores = fused(self.features, weights)
        order = np.lexsort((-scores, -shared_in_line(scores, self.lines)))
        return list(dict.fromkeys(self.units[place] for place in order))[:10]


def main() -> None:
    """Reads the command line, collects the pools, learns, prints both parts and writes the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--vectors", type=Path, default=Path("benchmarks/out/vectors"))
    options = parser.parse_args()
    options.vectors.mkdir(parents=True, exist_ok=True)

    print(machine_text())
    print(f"model: {model_text()}; data: {', '.join(name for name, *_ in SETS)} of {options.data.name}")
    pools = {
        name: list(
            pools_of(
                load_cases(name, options.data / folder, options.data / queries if queries else None), options.vectors
            )
        )
        for name, folder, queries in SETS
    }
    learnt = learn(pools)
    found = {"shipped": dict(RERANK_WEIGHTS), "learnt": learnt}
    figures = {label: figures_of(pools, weights) for label, weights in found.items()}
    for label, weights in found.items():
        print(f"\n{label}: {', '.join(f'{name} {weight:.2f}' for name, weight in weights.items())}")
        for name, parts in figures[label].items():
            for part, values in parts.items():
                print(f"  {name:<8}{part:<8}" + "  ".join(f"{aim} {values[aim]:.3f}" for aim in AIMS))
    if options.json:
        options.json.write_text(json.dumps({"weights": found, "figures": figures}, indent=1))


def pools_of(cases: Sequence[Case], vectors: Path) -> Iterator[Pool]:
    """The pools of all questions; with one case every second question is learnt on, else every second case."""
    for number, case in enumerate(cases):
        with built_memory(case, vectors.resolve()) as memory:
            for place, question in enumerate(case.questions):
                is_learnt_on = (number if len(cases) > 1 else place) % 2 == 1
                yield pool_of(memory, case, question.text, question.evidence, is_learnt_on)


def pool_of(memory: Memory, case: Case, text: str, evidence: frozenset[str], is_learnt_on: bool) -> Pool:
    """What was reranked for one question."""
    pipeline = memory.pipeline()
    _, ranking = pipeline.ranked(parse_query(text), pipeline.retriever)
    snapshot = pipeline.retriever.snapshot
    table, sources = snapshot.passages, snapshot.sources
    held = zip(table.sources[ranking.places].tolist(), table.lines[ranking.places].tolist(), strict=True)
    lines = [(sources[source].path, line) for source, line in held]
    units = [
        case.unit_of_file.get(path) or case.unit_of_line.get((path, line), f"{path}:{line}") for path, line in lines
    ]
    numbers = {line: number for number, line in enumerate(dict.fromkeys(lines))}
    return Pool(is_learnt_on, evidence, units, np.array([numbers[line] for line in lines], np.int64), ranking.features)


def learn(pools: Mapping[str, Sequence[Pool]]) -> dict[str, float]:
    """Coordinate search from equal weights, over what is learnt on alone, until a round brings nothing."""
    parts = {name: [pool for pool in of_set if pool.is_learnt_on] for name, of_set in pools.items()}
    weights = dict.fromkeys(RERANK_WEIGHTS, 1.0)
    best, before = aim(parts, weights), -1.0
    while best > before:
        before = best
        for name in RERANK_WEIGHTS:
            tried = [{**weights, name: weights[name] * factor} for factor in STEPS]
            reached, found = max(((aim(parts, one), one) for one in tried), key=lambda pair: pair[0])
            if reached > best + LEAST_GAIN:
                best, weights = reached, found
    return weights


def aim(parts: Mapping[str, Sequence[Pool]], weights: Mapping[str, float]) -> float:
    """The mean of the aims over the sets."""
    return fmean(values[name] for of_set in parts.values() for values in [scores_of(of_set, weights)] for name in AIMS)


def figures_of(
    pools: Mapping[str, Sequence[Pool]], weights: Mapping[str, float]
) -> dict[str, dict[str, dict[str, float]]]:
    """All metrics by set and part."""
    return {
        name: {
            "tuned": scores_of([pool for pool in of_set if pool.is_learnt_on], weights),
            "held": scores_of([pool for pool in of_set if not pool.is_learnt_on], weights),
        }
        for name, of_set in pools.items()
    }


def scores_of(pools: Sequence[Pool], weights: Mapping[str, float]) -> dict[str, float]:
    """The metrics over some pools."""
    return averages([pool.ranking(weights) for pool in pools], [pool.evidence for pool in pools])


if __name__ == "__main__":
    main()
