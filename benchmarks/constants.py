"""Counts the constants of the core, and names for each threshold and weight the figures that bear on it.

    python -m benchmarks.constants            how many there are, and the index
    python -m benchmarks.constants --write    puts the index at the end of RESULTS.md

A threshold or weight is a constant of a module that is made of numbers, some of them with a fraction, and is neither a
time nor a unit. Whole numbers are mostly sizes and limits; they, times, texts and patterns are counted and not named.
"""

import argparse
import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent
RESULTS = REPOSITORY / "benchmarks" / "RESULTS.md"
CORE = ("memory_server", "crawler", "dream", "oneiros")
HEADING = "## Constants"
UNIT = re.compile(r"SECONDS|MINUTES|HOURS|WINDOW|SCALES")
SHOWN_CHARS = 60  # of a value
FRACTION, WHOLE, OTHER = "thresholds and weights", "whole numbers, times and units", "texts, patterns and tables"

# A heading of RESULTS.md, and the constants, by file, that its figures bear on.
MEASURED: Mapping[str, Mapping[str, str]] = {
    "Retrieval, through the shipped MCP tools": {
        "memory_server/search/ranking/scoring.py": "FUSION_WEIGHTS RERANK_WEIGHTS WORDS NAMED_TIME NEIGHBOUR_WORDS"
        " NEIGHBOUR_MEANING NEIGHBOUR_TOKENS",
    },
    "Answers": {
        "memory_server/search/precedence.py": "SPOKEN",
        "memory_server/search/spoken.py": "SAME_QUESTION",
        "memory_server/search/pipeline.py": "UNLIKELY_SCORE",
    },
    "In a model's hands": {"memory_server/search/pipeline.py": "NOTE_AHEAD"},
    "Topics": {"memory_server/search/precedence.py": "TOPICS ANSWERS SHARE_OF_SESSION"},
    "Digests": {
        "crawler/compress/candidates.py": "CHOICE_WEIGHT REASON_WEIGHT",
        "crawler/compress/duties.py": "SHARE",
        "crawler/compress/extractive.py": "SHARE",
    },
    "Certainty": {
        "memory_server/search/certainty.py": "TOPIC_WEIGHTS SESSION_WEIGHTS SURE LIKELY_TOPIC LIKELY_SESSION",
    },
    "Languages": {
        "memory_server/language/languages.py": "FOREIGN_LETTERS LEAST_READ COMMON_WORTH KANA_SHARE",
        "memory_server/search/certainty.py": "LEAST_COVERED",
    },
    "Silence": {
        "memory_server/search/ranking/ranking.py": "SILENCE FLOOR EVEN STEEPNESS",
        "memory_server/search/ranking/calibration.py": "USUAL_REACH MOST_STRETCH",
    },
    "Hooks": {"oneiros/hooks/pointers.py": "SHARED CLOSE CLOSE_EVERYWHERE"},
    "Readings": {"dream/judge/compare.py": "ONE_THING"},
    "The gate": {"crawler/reading/proof.py": "MOST_NEW"},
    "Contradictions": {"dream/judge/compare.py": "CONTRADICTS_FROM"},
    "Over time": {"memory_server/lifecycle/gc.py": "BELOW"},
}
ARITHMETIC: Mapping[str, str] = {
    "memory_server/index/snapshot.py": "EXACT_STEP",
    "memory_server/search/certainty.py": "LEAST_ODDS",
    "memory_server/search/precedence.py": "EPSILON",
    "memory_server/search/ranking/ranking.py": "MOST_EXPONENT",
    "memory_server/search/ranking/scoring.py": "LEAST_UNIT EXACT_STEP",
}
NO_CHOICE, BY_HAND = "no choice: arithmetic", "by hand"


@dataclass(frozen=True, slots=True)
class Constant:
    """A name in capitals at the top of a module."""

    file: str
    name: str
    value: str  # as it is written
    kind: str


def read_constants() -> Iterator[Constant]:
    """Those of the core, by file, in the order in which they stand there."""
    for folder in CORE:
        for file in sorted((REPOSITORY / folder).rglob("*.py")):
            path = file.relative_to(REPOSITORY).as_posix()
            for name, value in read_assignments(ast.parse(file.read_text(encoding="utf-8"))):
                if name.isupper():
                    yield Constant(path, name, ast.unparse(value), classify_value(name, value))


def read_assignments(module: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """The names that a module gives at its top, each with its value; of several in one line each by itself."""
    for node in module.body:
        match node:
            case ast.Assign([ast.Tuple(names)], ast.Tuple(values)):
                pairs = zip(names, values, strict=True)
            case ast.Assign([target], value) | ast.AnnAssign(target, _, ast.expr() as value):
                pairs = zip([target], [value], strict=True)
            case _:
                continue
        yield from ((name.id, value) for name, value in pairs if isinstance(name, ast.Name))


def classify_value(name: str, value: ast.expr) -> str:
    """Which of the three kinds a constant is of."""
    numbers = [type(node.value) for node in ast.walk(value) if isinstance(node, ast.Constant)]
    divides = any(isinstance(node, ast.Div) for node in ast.walk(value))
    if (float in numbers or (divides and int in numbers)) and not UNIT.search(name) and not builds_record(value):
        return FRACTION
    return WHOLE if numbers and set(numbers) <= {int, float} else OTHER


def builds_record(value: ast.expr) -> bool:
    """Whether a class of ours or a path is called, which numbers merely fill."""
    calls = (node.func for node in ast.walk(value) if isinstance(node, ast.Call))
    return any(isinstance(called, ast.Name) and called.id[0].isupper() for called in calls)


def write_index(constants: list[Constant]) -> str:
    """The index as it stands in RESULTS.md."""
    weights = [one for one in constants if one.kind == FRACTION]
    counts = Counter(one.kind for one in constants)
    groups = {**MEASURED, NO_CHOICE: ARITHMETIC}
    sections = {
        (file, name): section
        for section, files in groups.items()
        for file, names in files.items()
        for name in names.split()
    }
    order = [*groups, BY_HAND]
    rows = sorted(
        ((sections.get((one.file, one.name), BY_HAND), one) for one in weights), key=lambda row: order.index(row[0])
    )
    by_hand = sum(section == BY_HAND for section, _ in rows)
    lines = [
        HEADING,
        "",
        "By `python -m benchmarks.constants`: names in capitals at the top of the core's modules: "
        + ", ".join(f"{counts[kind]} {kind}" for kind in (FRACTION, WHOLE, OTHER))
        + ".",
        f"Each threshold and weight, with the section whose figures bear on it; {by_hand} were set by hand.",
        "",
        "| figures | file | constants |",
        "|---|---|---|",
    ]
    for (section, file), group in groupby(rows, key=lambda row: (row[0], row[1].file)):
        named = ", ".join(f"`{one.name}` {shorten(one.value)}" for _, one in group)
        lines.append(f"| {section} | `{file}` | {named} |")
    return "\n".join(lines) + "\n"


def shorten(value: str) -> str:
    """A value as it is written, or that it is longer than a row has room for."""
    plain = re.sub(r"(?<![\d.])0\.", ".", value).replace("|", "or")
    return plain if len(plain) <= SHOWN_CHARS else "a table"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the index at the end of RESULTS.md")
    index = write_index(list(read_constants()))
    if parser.parse_args().write:
        text = RESULTS.read_text(encoding="utf-8").partition(f"\n{HEADING}\n")[0].rstrip("\n")
        RESULTS.write_text(f"{text}\n\n{index}", encoding="utf-8")
    print(index)


if __name__ == "__main__":
    main()
