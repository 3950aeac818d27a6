"""What an import leaves of the same said twice.

    python -m benchmarks.duplicates --data ../shared/data [--json FILE]

Behind the rules of each repository of `dream_real/rules.jsonl` doubles are planted: copies, copies in another form
(case, bullet, punctuation), and the rewordings by hand of `subject_rewordings.tsv`. `duplicates`: of the statements
left those that say again what another says; with the packaged embedder, and by words alone.
"""

import argparse
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from benchmarks.layouts import read_lines
from benchmarks.runs import read_table
from memory_server.embedding.catalogue import find_packaged_model
from memory_server.embedding.onnx_engine import OnnxEngine
from parts.taking_over.duplicates import Embed, make_embedder, same_as_earlier

REWORDINGS = Path(__file__).with_name("subject_rewordings.tsv")
COPIES_EVERY = 20  # statements, of which one is planted again as it stands and one in another form
Projects = dict[str, list[str]]  # the statements of each, in the order of their files


def measure(data: Path) -> dict[str, Any]:
    """The figures for the first day."""
    rules: dict[str, list[str]] = defaultdict(list)
    for rule in read_lines(data / "dream_real/rules.jsonl"):
        rules[rule["repo"]].append(rule["text"])
    reworded = {row["id"].rpartition(":")[0] for row in read_table(REWORDINGS)}
    projects = {name: texts for name, texts in rules.items() if name in reworded}
    doubles = duplicates(projects, embed_packaged())
    return {
        "duplicates": doubles["left"],
        "doubles_by_sort": doubles["of"],
        "doubles_by_words_alone": duplicates(projects, None),
    }


def embed_packaged() -> Embed | None:
    """The packaged model; None where it is not installed."""
    files = find_packaged_model()
    return make_embedder(lambda: OnnxEngine(files)) if files else None


def duplicates(projects: Projects, embed: Embed | None) -> dict[str, Any]:
    """The share of planted doubles among what is left, how many of each sort stay, and what else was dropped."""
    rewordings = {row["id"]: row["text"] for row in read_table(REWORDINGS)}
    planted: Counter[str] = Counter()
    left: Counter[str] = Counter()
    left_over = dropped = 0
    for name, texts in projects.items():
        ids = [f"{name}:{place}" for place in range(len(texts))]
        doubles = [("copy", text) for text in texts[::COPIES_EVERY]]
        doubles += [("form", reword(text)) for text in texts[COPIES_EVERY // 2 :: COPIES_EVERY]]
        doubles += [("rewording", rewordings[key]) for key in ids if key in rewordings]
        same = same_as_earlier([*texts, *(text for _, text in doubles)], embed)
        planted.update(sort for sort, _ in doubles)
        left.update(sort for (sort, _), place in zip(doubles, same[len(texts) :], strict=True) if place is None)
        left_over += sum(place is None for place in same)
        dropped += sum(place is not None for place in same[: len(texts)])
    of = {sort: {"planted": planted[sort], "left": left[sort]} for sort in planted}
    return {"left": left.total() / left_over if left_over else None, "of": of, "dropped_beside": dropped}


def reword(text: str) -> str:
    """The same words with another bullet, case and punctuation."""
    return f"* **{text[:1].swapcase()}{text[1:].rstrip('.')}**!"


def main() -> None:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    found = json.dumps(measure(arguments.data), indent=2)
    print(found)
    if arguments.json:
        arguments.json.write_text(found + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
