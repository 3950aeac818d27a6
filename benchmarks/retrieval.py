"""How well the shipped MCP tools find what is known to be there.

python -m benchmarks.retrieval --format locomo --data ../shared/data/locomo --json out.json
python -m benchmarks.retrieval --format docs --data DOCS --queries docs_queries.jsonl --json out.json
python -m benchmarks.retrieval --format beam --data BEAM --models FOLDER --dense NAME --sparse NAME

LoCoMo, LongMemEval-S and -M, BEAM and LMEB are read as they are published, from a file or a folder:

    locomo10.json · longmemeval_s.json, longmemeval_m.json · chats/100K to chats/10M · a folder of LMEB or all of it
"""

import argparse
import asyncio
import json
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.layouts import Case, load_cases
from benchmarks.machine import machine_text
from benchmarks.metrics import averages, confidence, hit, percentile, recall
from benchmarks.systems import SYSTEMS, Measured, Run, ask_fts5, ask_tools, built_memory, model_text

LAYOUTS = ("docs", "exact", "locomo", "longmemeval", "beam", "lmeb")


def main() -> None:
    """Reads the command line, runs every case, prints the table and writes the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--format", choices=LAYOUTS, required=True)
    parser.add_argument("--data", type=Path, required=True, help="a file or folder of that format, plain or .xz")
    parser.add_argument("--queries", type=Path, help="the questions, for docs and exact")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument(
        "--vectors", type=Path, default=Path("benchmarks/out/vectors"), help="keeps vectors between runs"
    )
    parser.add_argument("--cases", type=int, help="read so many memories and no more")
    parser.add_argument("--models", type=Path, help="a folder with folders of models, beside those of this machine")
    parser.add_argument("--dense", default="", help="the model that makes vectors; empty: the best at hand")
    parser.add_argument("--sparse", default="")
    parser.add_argument("--late", default="")
    parser.add_argument("--rerank", default="")
    options = parser.parse_args()
    models = Measured(options.models, options.dense, options.sparse, options.late, options.rerank)
    options.vectors.mkdir(parents=True, exist_ok=True)

    print(machine_text())
    print(f"model: {model_text(models)}; data: {options.format}, {options.data.name}")
    answers = []
    files = masked = 0
    for case in islice(load_cases(options.format, options.data, options.queries), options.cases):
        files, masked = files + len(case.files), masked + case.masked_lines
        answers.append((case, answer_questions(case, options.vectors.resolve(), models)))
        case.files, case.units = {}, {}  # a whole set does not fit into memory
    print(f"{len(answers)} memories, {files} files; {masked} masked lines taken out")
    print_table(answers)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(figures(options.format, answers), indent=1), encoding="utf-8")


def answer_questions(case: Case, vectors: Path, models: Measured) -> Mapping[str, Run]:
    """What every system answers to the questions of one case."""
    with built_memory(case, vectors, models) as memory:
        tools = asyncio.run(ask_tools(case, memory))
    return {**tools, "fts5": ask_fts5(case)}


def figures(layout: str, answers: Sequence[tuple[Case, Mapping[str, Run]]]) -> dict[str, Any]:
    """All figures as one JSON object."""
    questions = [(case, runs, question) for case, runs in answers for question in case.questions]
    return {
        "dataset": layout,
        "n": len(questions),
        "systems": {system: system_figures(system, answers) for system in SYSTEMS},
        "queries": [
            {
                "id": question.id,
                "kind": question.kind,
                "evidence": sorted(question.evidence),
                "hits": {system: runs[system].units[question.id] for system in SYSTEMS},
            }
            for _, runs, question in questions
        ],
    }


def system_figures(system: str, answers: Sequence[tuple[Case, Mapping[str, Run]]]) -> dict[str, Any]:
    """One system's averages over all questions, its times and failures, and the same by session where there are any."""
    rows = [(case, runs[system], question) for case, runs in answers for question in case.questions]
    found = averages([run.units[q.id] for _, run, q in rows], [q.evidence for _, _, q in rows])
    times = [value for _, runs in answers for value in runs[system].milliseconds]
    result: dict[str, Any] = {
        **found,
        "p50_ms": percentile(times, 0.5),
        "p95_ms": percentile(times, 0.95),
        "failures": sum(runs[system].failures for _, runs in answers),
    }
    if answers and answers[0][0].has_sessions:
        result["session"] = averages(
            [run.sessions[q.id] for _, run, q in rows],
            [
                frozenset(case.session_of[unit] for unit in q.evidence if unit in case.session_of) or q.evidence
                for case, _, q in rows
            ],
        )
    return result


def print_table(answers: Sequence[tuple[Case, Mapping[str, Run]]]) -> None:
    """The systems side by side over everything, then by kind of question and by half of the cases."""
    names = ["recall@1", "recall@5", "recall@10", "hit@5", "all@5", "hit@10", "mrr", "ndcg@10", "p50_ms", "p95_ms"]
    _print_systems("all", answers, names)
    if len(answers) > 1:
        middle = (len(answers) + 1) // 2
        for label, part in (("first half of the cases", answers[:middle]), ("second half", answers[middle:])):
            _print_systems(label, part, names[:7])
    kinds = sorted({question.kind for case, _ in answers for question in case.questions})
    if len(kinds) > 1:
        for name in ("recall@10", "hit@5", "all@5"):
            _print_kinds(name, kinds, answers)


def _print_kinds(name: str, kinds: Sequence[str], answers: Sequence[tuple[Case, Mapping[str, Run]]]) -> None:
    """One figure by kind of question and system, with the number of questions."""
    print(f"\n{name + ' by kind':<34}" + "".join(f"{system:>15}" for system in SYSTEMS))
    for kind in kinds:
        pairs = [(runs, question) for case, runs in answers for question in case.questions if question.kind == kind]
        values = [
            averages([runs[system].units[q.id] for runs, q in pairs], [q.evidence for _, q in pairs])[name]
            for system in SYSTEMS
        ]
        print(f"  {kind:<26}{len(pairs):>6}" + "".join(f"{value:>15.3f}" for value in values))


def _print_systems(label: str, answers: Sequence[tuple[Case, Mapping[str, Run]]], names: Sequence[str]) -> None:
    count = sum(len(case.questions) for case, _ in answers)
    print(
        f"\n{label}: {count} questions\n{'':<26}"
        + "".join(f"{name:>11}" for name in names)
        + "   95 % of recall@10, hit@10"
    )
    for system in SYSTEMS:
        values = system_figures(system, answers)
        pairs = [(runs[system].units[q.id], q.evidence) for case, runs in answers for q in case.questions]
        intervals = [confidence([metric(*pair) for pair in pairs]) for metric in (recall(10), hit(10))]
        bounds = "  ".join(f"{low:.3f}-{high:.3f}" for low, high in intervals)
        print(f"  {system:<24}" + "".join(f"{values[name]:>11.3f}" for name in names) + f"   {bounds}")
        if "session" in values:
            print(
                f"  {'  by session':<24}"
                + "".join(f"{values['session'].get(name, float('nan')):>11.3f}" for name in names)
            )


if __name__ == "__main__":
    main()
