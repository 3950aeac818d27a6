"""Whether recall stays silent where the memory holds no answer, and speaks where it does.

Every memory is asked its own questions and those of the others: of another conversation, or of another project's
documents. The curve shows, for each confidence, how many of its own answered questions a memory would still answer,
how many foreign ones would get a hit, and what a floor there would cost of hit@10. Below SILENCE nothing is shown,
below FLOOR what is shown is called a perhaps. Beside it the questions that the data sets themselves call unanswerable,
which are harder: they ask the right memory for what was never said; and of each kind, of how many the first hit is
called sure or likely. Every second memory is printed apart.

    python -m benchmarks.silence --format locomo --data ../shared/data/locomo --json out.json
    python -m benchmarks.silence --format docs --data DOCS --queries docs_queries.jsonl --json out.json
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.layouts import Case, Question, load_cases
from benchmarks.machine import machine_text
from benchmarks.systems import built_memory, model_text
from memory_server.document import Certainty
from memory_server.memory import Memory
from memory_server.search.question import parse_query
from memory_server.search.ranking.ranking import FLOOR, SILENCE

FLOORS = (0.01, 0.02, SILENCE, 0.05, 0.1, 0.2, 0.3, 0.4, FLOOR, 0.6, 0.8)
FOREIGN_EACH = 50  # questions of each other memory, evenly spread
NO_FLOOR = float("-inf")
KINDS = ("own", "foreign", "unanswerable")  # of questions


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """How sure the memory was of one question."""

    memory: str
    is_learnt_on: bool  # every second memory
    kind: str
    confidence: float
    is_found: bool  # an own question whose evidence is among the first ten
    is_likely: bool  # its first hit, as the program shows it, is called sure or likely


def main() -> None:
    """Reads the command line, asks, prints the curve and writes the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--format", choices=("docs", "locomo", "beam"), required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--queries", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--vectors", type=Path, default=Path("benchmarks/out/vectors"))
    options = parser.parse_args()
    options.vectors.mkdir(parents=True, exist_ok=True)

    print(machine_text())
    print(f"model: {model_text()}; data: {options.format}, {options.data.name}")
    print(f"silent below {SILENCE}, a perhaps below {FLOOR}")
    cases = list(load_cases(options.format, options.data, options.queries))
    if options.format == "docs":
        cases = [part for case in cases for part in by_project(case)]
    vectors = options.vectors.resolve()
    answers = [answer for number, case in enumerate(cases) for answer in ask(case, cases, vectors, number % 2 == 1)]
    print_curve(answers)
    if options.json:
        rows = {f"{floor:.2f}": shares(answers, floor) for floor in FLOORS}
        found = {"dataset": options.format, "floor": FLOOR, "silence": SILENCE, "curve": rows, "parts": parts(answers)}
        found["said"] = share_called(answers)
        options.json.write_text(json.dumps(found, indent=1))


def by_project(case: Case) -> list[Case]:
    """One memory a project: the first folder of a document's path."""
    parts: dict[str, Case] = {}
    for path, unit in case.unit_of_file.items():
        part = parts.setdefault(unit.partition("/")[0], Case(unit.partition("/")[0]))
        part.files[path] = case.files[path]
        part.unit_of_file[path] = unit
    for question in case.questions:
        parts[min(question.evidence).partition("/")[0]].questions.append(question)
    return [part for part in parts.values() if part.questions]


def ask(case: Case, cases: Sequence[Case], vectors: Path, is_learnt_on: bool) -> list[AnsweredQuestion]:
    """A memory's own questions, some of every other memory, and the unanswerable ones."""
    with built_memory(case, vectors) as memory:
        foreign = [
            question
            for other in cases
            if other is not case
            for question in other.questions[:: max(1, len(other.questions) // FOREIGN_EACH)][:FOREIGN_EACH]
        ]
        of_kinds = zip(KINDS, (case.questions, foreign, case.unanswerable), strict=True)
        return [
            _ask_one(memory, case, is_learnt_on, kind, question)
            for kind, questions in of_kinds
            for question in questions
        ]


def _ask_one(memory: Memory, case: Case, is_learnt_on: bool, kind: str, question: Question) -> AnsweredQuestion:
    per_source = 10 if case.has_sessions else 1
    answer = memory.pipeline(floor=NO_FLOOR).answer(parse_query(question.text, per_source=per_source))
    units = {case.find_unit(hit.path, hit.lines.first) for hit in answer.hits}
    shown = memory.pipeline().answer(parse_query(question.text)).hits[:1]
    is_likely = any(hit.certainty is not Certainty.PERHAPS for hit in shown)
    return AnsweredQuestion(
        case.name, is_learnt_on, kind, answer.confidence, bool(units & question.evidence), is_likely
    )


def shares(answers: Sequence[AnsweredQuestion], floor: float) -> dict[str, float]:
    """At one floor: own answers kept, foreign and unanswerable questions that get a hit, what hit@10 loses."""
    groups = {
        "kept": [one for one in answers if one.kind == "own" and one.is_found],
        "foreign": [one for one in answers if one.kind == "foreign"],
        "unanswerable": [one for one in answers if one.kind == "unanswerable"],
    }
    own = [one for one in answers if one.kind == "own"]
    lost = {"lost": sum(one.is_found and one.confidence < floor for one in own) / len(own)} if own else {}
    left = {name: sum(one.confidence >= floor for one in group) / len(group) for name, group in groups.items() if group}
    return {**left, **lost}


def share_called(answers: Sequence[AnsweredQuestion]) -> dict[str, tuple[float, int]]:
    """Of each kind how many there are, and the share of which the first hit is called sure or likely."""
    kinds = {kind: [one.is_likely for one in answers if one.kind == kind] for kind in KINDS}
    return {kind: (sum(called) / len(called), len(called)) for kind, called in kinds.items() if called}


def parts(answers: Sequence[AnsweredQuestion]) -> dict[str, dict[str, float]]:
    """The shares at the floor of a perhaps, of every second memory and of the others."""
    return {
        name: shares([one for one in answers if one.is_learnt_on is is_learnt_on], FLOOR)
        for name, is_learnt_on in (("tuned", True), ("held", False))
    }


def print_curve(answers: Sequence[AnsweredQuestion]) -> None:
    """The curve over all memories, then the floor of a perhaps memory by memory."""
    print(f"\n{'floor':>8}{'kept':>10}{'foreign':>10}{'unanswerable':>15}{'lost':>10}")
    for floor in FLOORS:
        found = shares(answers, floor)
        mark = {SILENCE: " <- silent below", FLOOR: " <- perhaps below"}.get(floor, "")
        print(
            f"{floor:>8.2f}"
            + "".join(
                f"{found.get(name, float('nan')):>{width}.3f}"
                for name, width in (("kept", 10), ("foreign", 10), ("unanswerable", 15), ("lost", 10))
            )
            + mark
        )
    by_memory = {
        name: shares([one for one in answers if one.memory == name], FLOOR)
        for name in dict.fromkeys(one.memory for one in answers)
    }
    called = {name: f"{share:.3f} of {count}" for name, (share, count) in share_called(answers).items()}
    print("\ncalled sure or likely: " + ", ".join(f"{name} {share}" for name, share in called.items()))
    print("\nat the floor of a perhaps, by memory and by part")
    for name, found in (*by_memory.items(), *parts(answers).items()):
        print(f"  {name:<16}" + "  ".join(f"{key} {value:.3f}" for key, value in found.items()))


if __name__ == "__main__":
    main()
