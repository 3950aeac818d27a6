"""Which of two memories answers first, where a project's and the account's are asked together.

    python -m benchmarks.two_memories --json FILE

Of three subjects, documents of one project or one conversation each, the first lies in the project's memory, the second
in the account's, the third in both: what answers in the account's in an older state, without every fifth line. They are
asked about all three and about others. Right is the memory in which the answer lies; of both the project's; of neither
that nothing is called more than a perhaps. Each set is measured as shipped, and with what the other sets choose of ODDS
(`left out`). Beside it in the same run: raw scores merged, and the project's hits before all of the account's.
`--overlapping` asks the harder question: each memory holds a third of the files in which the other's answers lie, too,
so that it knows much of what it cannot answer.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from benchmarks.layouts import Case, Question, load_cases, read_lines
from benchmarks.machine import machine_text
from benchmarks.metrics import confidence
from benchmarks.silence import by_project
from benchmarks.systems import built_memory, model_text
from benchmarks.topics import LABELS, SHIPPED_MEMORY, SHIPPED_SET, make_topics, read_questions
from memory_server.document import Answer, Certainty, Hit
from memory_server.search.question import parse_query
from parts.two_memories.joining import ACCOUNT, LIKELIER, join_answers

KINDS = ("project", "account", "both", "neither")


def cyclic(names: Sequence[str]) -> list[tuple[str, str, str]]:
    """Each with the two behind it."""
    return [(name, names[place - len(names) + 1], names[place - len(names) + 2]) for place, name in enumerate(names)]


THREES = {  # of each set: the project's subject, the account's, that of both
    "topics": (("shipped", "labels", "conv-26"), ("labels", "shipped", "conv-26")),
    "locomo": cyclic("conv-26 conv-30 conv-41 conv-42".split()),
    "beam": cyclic("01 02 03 04 05".split()),
    "docs": cyclic("klipper valkey wled".split()),
}
MOST = {"topics": 20, "locomo": 25, "beam": 8, "docs": 17}  # questions of each kind and three
ODDS = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)  # of which one is chosen
OLDER = 5  # of so many lines an older state lacks one


@dataclass(frozen=True, slots=True)
class Pair:
    """What both memories answer to one question, each by itself."""

    kind: str
    text: str
    ours: Answer
    theirs: Answer


System = Callable[[Pair], Hit | None]


def main() -> None:
    """Reads the command line, asks everything, prints the tables and writes the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=Path("../shared/data"), help="the folder of shared data")
    parser.add_argument("--sets", nargs="*", choices=THREES, default=list(THREES))
    parser.add_argument("--overlapping", action="store_true", help="each memory holds some of the other's files")
    parser.add_argument("--json", type=Path, help="figures to FILE")
    parser.add_argument("--vectors", type=Path, default=Path("benchmarks/out/vectors"))
    options = parser.parse_args()
    options.vectors.mkdir(parents=True, exist_ok=True)
    print(machine_text())
    print(f"model: {model_text()}")
    found: dict[str, dict[str, dict[str, float]]] = {}
    answers = {}
    for name in options.sets:
        answers[name] = pairs = list(
            ask_both(name, options.shared, options.vectors.resolve(), overlapping=options.overlapping)
        )
        found[name] = figures(pairs)
        print_table(name, found[name])
    for name in answers if len(answers) > 1 else ():
        odds, share = left_out(name, answers)
        found[name]["left out"] = {"odds": odds, "right": share}
        print(f"{name}: the other sets choose odds of {odds:g}, {share:.3f} right")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


# -- the two memories -----------------------------------------------------------------------------------------------


def ask_both(name: str, shared: Path, vectors: Path, *, overlapping: bool = False) -> Iterator[Pair]:
    """Every question of a set, asked of both memories."""
    cases = {case.name: case for case in read_cases(name, shared)}
    for names in THREES[name]:
        project, account, common = (cases[one] for one in names)
        others = [question for case in cases.values() if case.name not in names for question in case.questions]
        questions = dict(zip(KINDS, (project.questions, account.questions, common.questions, others), strict=True))
        mine, yours = {**project.files, **common.files}, {**account.files, **common.files, **older(common)}
        if overlapping:
            copied = {case.name: answering(case, case.questions)[::3] for case in (project, account)}
            mine |= {path: account.files[path] for path in copied[account.name]}
            yours |= {path: project.files[path] for path in copied[project.name]}
            for kind, case in (("project", project), ("account", account)):
                held = set(copied[case.name])
                questions[kind] = [one for one in case.questions if held.isdisjoint(answering(case, [one]))]
        with (
            built_memory(replace(project, files=mine), vectors) as first,
            built_memory(replace(account, files=yours), vectors) as second,
        ):
            for kind in KINDS:
                for question in spread(questions[kind], MOST[name]):
                    wanted = parse_query(question.text)
                    yield Pair(kind, question.text, first.look_up(wanted), second.look_up(wanted))


def older(case: Case) -> dict[str, str]:
    """The files in which answers stand, as they may have been before: without every fifth line."""
    return {
        path: "".join(
            line for number, line in enumerate(case.files[path].splitlines(keepends=True), 1) if number % OLDER
        )
        for path in answering(case, case.questions)
    }


def read_cases(name: str, shared: Path) -> Iterator[Case]:
    """The memories of a set, each with its questions."""
    if name == "topics":
        yield from topic_cases(shared)
        yield from load_cases("locomo", shared / "locomo", None)  # whose questions neither answers
    elif name == "docs":
        for case in load_cases(name, shared / name, shared / "eval" / "docs_queries.jsonl"):
            yield from by_project(case)
    else:
        yield from load_cases(name, shared / name, None)


def topic_cases(shared: Path) -> Iterator[Case]:
    """The memory that comes with the program, and topics made of the labels of real sessions."""
    labels = list(read_lines(shared / LABELS))
    shipped = {
        f"topics/{file.name}": file.read_text(encoding="utf-8") for file in (SHIPPED_MEMORY / "topics").iterdir()
    }
    questions = read_questions(labels)
    for name, files in ((SHIPPED_SET, shipped), ("labels", make_topics(labels))):
        case = Case(name, files, unit_of_file={path: path for path in files})
        own = [one for one in questions if one.topics[0] in files and (one.of == SHIPPED_SET) == (name == SHIPPED_SET)]
        case.questions = [Question(one.id, one.text, one.of, frozenset({one.topics[0]})) for one in own]
        yield case


def answering(case: Case, questions: Sequence[Question]) -> list[str]:
    """The files in which the answers of some questions stand."""
    units = {unit for question in questions for unit in question.evidence}
    paths = {path for (path, _), unit in case.unit_of_line.items() if unit in units}
    return sorted(paths | {path for path, unit in case.unit_of_file.items() if unit in units})


def spread(questions: Sequence[Question], count: int) -> list[Question]:
    """So many of some questions, evenly spread over them."""
    return [questions[place * len(questions) // count] for place in range(min(count, len(questions)))]


# -- what stands first ----------------------------------------------------------------------------------------------


def first_of_joined(pair: Pair, odds: float = LIKELIER) -> Hit | None:
    """As shipped, or with other odds."""
    return next(iter(join_answers(parse_query(pair.text), pair.ours, pair.theirs, "p", odds).hits), None)


def first_by_score(pair: Pair) -> Hit | None:
    """Raw scores merged."""
    firsts = [*pair.ours.hits[:1], *(replace(hit, memory=ACCOUNT) for hit in pair.theirs.hits[:1])]
    return max(firsts, key=lambda hit: hit.score, default=None)


def first_of_project(pair: Pair) -> Hit | None:
    """The project's, wherever it has a hit."""
    return next(iter([*pair.ours.hits, *(replace(hit, memory=ACCOUNT) for hit in pair.theirs.hits)]), None)


SYSTEMS: Mapping[str, System] = {
    "joined": first_of_joined,
    "raw scores": first_by_score,
    "project first": first_of_project,
}


def left_out(name: str, answers: Mapping[str, Sequence[Pair]]) -> tuple[float, float]:
    """What all other sets choose of ODDS, the lowest of equals, and the share that is right with it in this one."""

    def share(one: str, odds: float) -> float:
        return fmean(is_right(pair, first_of_joined(pair, odds)) for pair in answers[one])

    chosen = max(ODDS, key=lambda odds: (round(fmean(share(one, odds) for one in answers if one != name), 6), -odds))
    return chosen, share(name, chosen)


def is_right(pair: Pair, first: Hit | None) -> bool:
    """Whether the first hit is of the memory that answers; of none, whether nothing passes for an answer."""
    if pair.kind == "neither":
        return first is None or first.certainty is Certainty.PERHAPS
    return first is not None and (first.memory == ACCOUNT) == (pair.kind == "account")


def figures(pairs: Sequence[Pair]) -> dict[str, dict[str, float]]:
    """For every system the share of right first memories, with its 95 % interval, and by kind of question."""
    found = {}
    for name, system in SYSTEMS.items():
        right = [(pair.kind, float(is_right(pair, system(pair)))) for pair in pairs]
        low, high = confidence([value for _, value in right])
        kinds = {kind: fmean(value for one, value in right if one == kind) for kind in KINDS}
        found[name] = {"n": len(pairs), "right": fmean(value for _, value in right), "low": low, "high": high, **kinds}
    return found


def print_table(name: str, found: Mapping[str, Mapping[str, float]]) -> None:
    """The systems side by side."""
    print(f"\n{name}{'':<12}{'n':>6}{'right':>8}{'95 %':>14}" + "".join(f"{kind:>10}" for kind in KINDS))
    for system, row in found.items():
        bounds = f"{row['low']:.3f}-{row['high']:.3f}"
        print(
            f"  {system:<16}{row['n']:>6.0f}{row['right']:>8.3f}{bounds:>14}"
            + "".join(f"{row[kind]:>10.3f}" for kind in KINDS)
        )


if __name__ == "__main__":
    main()
