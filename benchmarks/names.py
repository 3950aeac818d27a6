"""How many functions are not called by a verb: a bare participle (`told`), or what ends in a preposition (`words_of`).

    python -m benchmarks.names [--list]

Counted over every package that is shipped and the benchmarks, methods, properties and functions within functions too,
without those that Python itself calls; phrasal verbs (`take_over`) count as well. `--list` names them.
"""

import argparse
import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = ("memory_server", "crawler", "dream", "oneiros", "parts", "trainer", "benchmarks")
PREPOSITIONS = frozenset(
    "of in at by for from to with as on into over behind under beside before after within without above below between "
    "around since until against among off".split()
)
PARTICIPLES = frozenset(  # that do not end in -ed
    "told said kept held shown known found made given left chosen written taken sent spoken done begun brought thought "
    "met built lost won drawn seen gone worn broken".split()
)
VERBS = frozenset("embed reembed feed need seed speed exceed proceed".split())  # that do


def main() -> None:
    """Prints the share of each package and of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="every such function with its place")
    options = parser.parse_args()
    functions = [(package, place, name) for package in PACKAGES for place, name in find_functions(ROOT / package)]
    counted, others = Counter(package for package, _, _ in functions), Counter[str]()
    for package, place, name in functions:
        if not is_verb(name):
            others[package] += 1
            if options.list:
                print(f"{place}: {name}")
    for package in PACKAGES:
        print(f"{package:14} {others[package]:4} of {counted[package]:5}  {others[package] / counted[package]:.1%}")
    print(f"{'all':14} {others.total():4} of {counted.total():5}  {others.total() / counted.total():.1%}")


def find_functions(folder: Path) -> Iterator[tuple[str, str]]:
    """Every function below a folder: its file and line, and its name."""
    for file in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("__"):
                yield f"{file.relative_to(ROOT)}:{node.lineno}", node.name


def is_verb(name: str) -> bool:
    """Whether a name is neither a bare participle nor ends in a preposition."""
    words: Sequence[str] = name.strip("_").split("_")
    is_participle = words[0] in PARTICIPLES or (words[0].endswith("ed") and words[0] not in VERBS)
    return words[-1] not in PREPOSITIONS and not (len(words) == 1 and is_participle)


if __name__ == "__main__":
    main()
