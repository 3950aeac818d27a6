"""Chooses the weights by which recall reranks, and reads them on what had no say in the choice.

The family is small, so that little can be learnt by heart: all features weigh 1, but at most one weighs 2, 4 or 8, or
is left out. Each set is left out in turn, with its conversations, chats and projects, and what serves the others best
is read on it; then each conversation, chat or project alone, which the rest of its set may speak for. What cannot be
told from equal weights on the others, by more than the standard error over pairs of answers, is equal weights. Every
figure stands beside plain FTS5 in the same run with the 95 % interval of the difference, by bootstrap over pairs. The
program ships what all sets choose (`RERANK_WEIGHTS`); where that differs, the exit code is 1. There is no floor here:
what silence costs is the matter of `benchmarks.silence`.

    python -m benchmarks.choose --data ../shared/data --json out.json
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.layouts import Case, load_cases, read_lines
from benchmarks.machine import machine_text
from benchmarks.metrics import METRICS, averages, confidence
from benchmarks.sessions import build_memory, copy_transcripts, corpus_folders, make_case, parse_question, read_masks
from benchmarks.systems import ask_fts5, built_memory, model_text
from memory_server.layers.sessions import newest_files
from memory_server.memory import Memory
from memory_server.root.paths import MemoryRoot
from memory_server.search.question import parse_query
from memory_server.search.ranking.scoring import RERANK_WEIGHTS, Places, fuse_scores, share_in_line

SETS = (
    ("locomo", "locomo", None),
    ("beam", "beam", None),
    ("docs", "docs", "eval/docs_queries.jsonl"),
    ("longmemeval", "longmemeval", None),
)
COMMITS = ("transcripts", "eval/commit_queries.jsonl")
EQUAL = dict.fromkeys(RERANK_WEIGHTS, 1.0)
OTHERS = (0.0, 2.0, 4.0, 8.0)  # of one feature at a time
AIMS = ("recall@5", "recall@10", "mrr")
SHOWN = ("recall@5", "recall@10", "hit@5", "hit@10", "mrr")

Weights = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Pool:
    """The passages that were reranked for one question."""

    part: str  # of its set: the conversation, the chat, the project
    evidence: frozenset[str]
    plain: Sequence[str]  # what FTS5 finds
    units: Sequence[str]  # of each passage
    lines: Places  # a number for each line
    features: Mapping[str, NDArray[np.float64]]

    def ranking(self, weights: Weights) -> list[str]:
        """The units in the order that the weights give, best first."""
        scores = fuse_scores(self.features, weights)
        order = np.lexsort((-scores, -share_in_line(scores, self.lines)))
        return list(dict.fromkeys(self.units[place] for place in order))[:10]

    def measure_reach(self, weights: Weights) -> float:
        """The mean of the aims."""
        ranking = self.ranking(weights)
        return float(np.mean([METRICS[name](ranking, self.evidence) for name in AIMS]))


def main() -> int:
    """Reads the command line, collects the pools, leaves every set out, prints the tables and writes the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--vectors", type=Path, default=Path("benchmarks/out/vectors"))
    options = parser.parse_args()
    options.vectors.mkdir(parents=True, exist_ok=True)

    print(machine_text())
    print(f"model: {model_text()}; sets of {options.data.name}")
    pools: dict[str, list[Pool]] = {}
    for name, case, memory in memories(options.data, options.vectors.resolve()):
        pools.setdefault(name, []).extend(build_pools(case, memory))
    found = chosen_and_left_out(pools)
    print_found(found)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))
    return int(found["chosen"] != differing(RERANK_WEIGHTS))


def memories(data: Path, vectors: Path) -> Iterator[tuple[str, Case, Memory]]:
    """Every memory of every set that is there, open."""
    for name, folder, queries in SETS:
        if (data / folder).exists():
            for case in load_cases(name, data / folder, data / queries if queries else None):
                with built_memory(case, vectors) as memory:
                    yield name, case, memory
    transcripts, file = (data / part for part in COMMITS)
    if transcripts.exists() and file.exists():
        with commits_memory(transcripts, file, vectors) as (case, memory):
            yield "commits", case, memory


@contextmanager
def commits_memory(transcripts: Path, queries: Path, vectors: Path) -> Iterator[tuple[Case, Memory]]:
    """The digests of the sessions that commits are looked for in, as `benchmarks.sessions` takes them in."""
    rows = read_lines(queries)
    with tempfile.TemporaryDirectory(prefix="oneiros-choose-") as folder:
        live, root = Path(folder, "live"), MemoryRoot(Path(folder, "memory"), Path(folder, "state"))
        copy_transcripts(corpus_folders(transcripts, rows), live, read_masks(rows))
        with build_memory(live, root, vectors, raw_vectors=False) as memory:
            case, files = make_case(root, [parse_question(row) for row in rows]), newest_files(root.sessions)
            case.unit_of_file = {str(root.relative(path)): session for session, path in files.items()}
            yield case, memory


def build_pools(case: Case, memory: Memory) -> Iterator[Pool]:
    """What is reranked for every question of a memory."""
    pipeline, plain = memory.pipeline(), ask_fts5(case)
    snapshot = pipeline.retriever.snapshot
    for question in case.questions:
        _, ranking = pipeline.rank(parse_query(question.text), pipeline.retriever)
        table, places = snapshot.passages, ranking.places
        held = zip(table.sources[places].tolist(), table.lines[places].tolist(), strict=True)
        lines = [(snapshot.sources[source].path, line) for source, line in held]
        units = [case.find_unit(path, line) or path for path, line in lines]
        numbers = table.line_numbers[places]
        part = min(question.evidence).partition("/")[0] if case.name == "docs" else case.name
        yield Pool(part, question.evidence, plain.units[question.id], units, numbers, ranking.features)


def chosen_and_left_out(pools: Mapping[str, Sequence[Pool]]) -> dict[str, Any]:
    """What all sets choose, and for each set what the others choose and reach on it."""
    family = [EQUAL, *({**EQUAL, name: weight} for name in EQUAL for weight in OTHERS)]
    tables = {  # (questions, weights) each
        name: np.array([[pool.measure_reach(weights) for weights in family] for pool in of_set])
        for name, of_set in pools.items()
    }
    sets = {}
    for name, of_set in pools.items():
        others = [table for other, table in tables.items() if other != name]
        place, parts = choose_best(others), np.array([pool.part for pool in of_set])
        of_part = {part: choose_best([*others, tables[name][parts != part]]) for part in sorted({*parts.tolist()})}
        runs = {
            "left out": [pool.ranking(family[place]) for pool in of_set],
            "each part left out": [pool.ranking(family[of_part[pool.part]]) for pool in of_set],
            "shipped": [pool.ranking(RERANK_WEIGHTS) for pool in of_set],
            "equal": [pool.ranking(EQUAL) for pool in of_set],
            "fts5": [list(pool.plain) for pool in of_set],
        }
        figures = {label: compare(of_set, runs["left out"], run) for label, run in runs.items()}
        by_part = {part: differing(family[found]) for part, found in of_part.items()}
        sets[name] = {"n": len(of_set), "chosen": differing(family[place]), "by part": by_part, "figures": figures}
    mean = np.mean([table.mean(axis=0) for table in tables.values()], axis=0)
    worth = {name: float(mean[0] - mean[family.index({**EQUAL, name: 0.0})]) for name in EQUAL}
    return {"chosen": differing(family[choose_best(list(tables.values()))]), "worth": worth, "sets": sets}


def choose_best(tables: Sequence[NDArray[np.float64]]) -> int:
    """The weights that reach most over some sets, each counted once; equal ones, the first, where none is surely above.

    tables: for each set what each of its questions reaches by each of the weights, (questions, weights).
    """
    above = [table - table[:, :1] for table in tables]
    above = [gain for gain in above if len(gain)]  # of a set of one part nothing is left
    gains = np.mean([gain.mean(axis=0) for gain in above], axis=0)
    errors = np.sqrt(np.sum([gain.var(axis=0) / len(gain) for gain in above], axis=0)) / len(above)
    return int(np.argmax(np.where(gains > errors, gains, 0.0)))


def differing(weights: Weights) -> dict[str, float]:
    """The weights that are not 1."""
    return {name: weight for name, weight in weights.items() if weight != 1.0}


def compare(pools: Sequence[Pool], chosen: Sequence[Sequence[str]], run: Sequence[Sequence[str]]) -> dict[str, Any]:
    """The figures of one run, and the interval within which the chosen one is above it."""
    right = [pool.evidence for pool in pools]
    pairs = list(zip(chosen, run, right, strict=True))
    above = {
        name: confidence([METRICS[name](best, wanted) - METRICS[name](one, wanted) for best, one, wanted in pairs])
        for name in SHOWN
    }
    return {**averages(run, right), "above": above}


def print_found(found: Mapping[str, Any]) -> None:
    """A line for each set and each way to weigh, then the worth of each feature."""
    print(f"{'':<26}" + "".join(f"{name:>11}" for name in SHOWN) + "   left out above it, 95 %: recall@10; MRR")
    for name, of_set in found["sets"].items():
        print(f"{name}, {of_set['n']} questions; the others choose {of_set['chosen'] or 'equal weights'}")
        for part, chosen in of_set["by part"].items():
            print(f"    without {part} alone: {chosen or 'equal weights'}")
        for way, values in of_set["figures"].items():
            bounds = "; ".join("{:+.3f} to {:+.3f}".format(*values["above"][aim]) for aim in ("recall@10", "mrr"))
            print(f"  {way:<24}" + "".join(f"{values[aim]:>11.3f}" for aim in SHOWN) + f"   {bounds}")
    shipped = differing(RERANK_WEIGHTS)
    print(f"all sets choose {found['chosen'] or 'equal weights'}, the program ships {shipped or 'equal weights'}")
    print("without a feature the mean of the aims falls by")
    for name, worth in found["worth"].items():
        print(f"  {name:<24}{worth:>+11.4f}")


if __name__ == "__main__":
    sys.exit(main())
