"""Whether what a memory is not taught to read is called sure: twenty topics in each of ten languages.

    python -m benchmarks.languages --json FILE
    python -m benchmarks.languages --models FOLDER --dense NAME

`languages.tsv` has for each language twenty topics of one statement, a question that each answers, and twenty questions
that none does, the same ones in every language. A memory a language. `first`: the right topic is the first hit; of the
questions without an answer, `said` are called likely or sure or decide. `told`: the answer says that the model does not
read it.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.layouts import Case
from benchmarks.machine import machine_text
from benchmarks.runs import read_table
from benchmarks.systems import Measured, built_memory, model_text
from memory_server.document import Certainty
from memory_server.memory import Memory
from memory_server.search.question import parse_query

TOPICS = Path(__file__).parent / "languages.tsv"
SHARES = ("first", "first_sure", "first_likely", "decides", "told", "absent_sure", "absent_decides", "absent_said")


def main() -> None:
    """Reads the command line, asks everything, prints a line a language and writes the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--vectors", type=Path, default=Path("benchmarks/out/vectors"))
    parser.add_argument("--models", type=Path, help="a folder with folders of models, beside those of this machine")
    parser.add_argument("--dense", default="", help="the model that makes vectors; empty: the best at hand")
    options = parser.parse_args()
    models = Measured(options.models, options.dense)
    options.vectors.mkdir(parents=True, exist_ok=True)
    print(f"{machine_text()}\nmodel: {model_text(models)}")
    print(f"{'':<4}" + "".join(f"{name:>16}" for name in SHARES))
    found = {}
    for language, rows in read_topics().items():
        with built_memory(make_case(rows), options.vectors.resolve(), models) as memory:
            found[language] = shares(list(ask(memory, rows)))
        print(f"{language:<4}" + "".join(f"{found[language][name]:>16.2f}" for name in SHARES))
    if options.json:
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


def read_topics() -> dict[str, list[Mapping[str, str]]]:
    """The rows of each language."""
    found: dict[str, list[Mapping[str, str]]] = {}
    for row in read_table(TOPICS):
        found.setdefault(row["language"], []).append(row)
    return found


def make_case(rows: Sequence[Mapping[str, str]]) -> Case:
    """A topic a row."""
    case = Case(rows[0]["language"])
    for number, row in enumerate(rows):
        case.files[f"topics/t{number}.md"] = f"# {row['title']}\n\n- {row['statement']}\n"
    return case


def ask(memory: Memory, rows: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """What is true of the answers to all questions, a word for each."""
    for number, row in enumerate(rows):
        answer = memory.search(parse_query(row["question"]))
        first = answer.hits[0] if answer.hits else None
        yield from ["told"] * ("does not read" in answer.note)
        if first and first.path == f"topics/t{number}.md":
            yield "first"
            yield f"first_{first.certainty}"
            yield from ["decides"] * first.decides
        hits = memory.search(parse_query(row["absent"])).hits
        yield from ["absent_sure"] * any(hit.certainty is Certainty.SURE for hit in hits)
        yield from ["absent_decides"] * any(hit.decides for hit in hits)
        yield from ["absent_said"] * any(hit.decides or hit.certainty is not Certainty.PERHAPS for hit in hits)


def shares(words: Sequence[str]) -> dict[str, float]:
    """How many of twenty."""
    counted = Counter(words)
    return {name: counted[name] / 20 for name in SHARES}


if __name__ == "__main__":
    main()
