"""The first day: from an empty home to statements in topics, by the commands that a person types.

    python -m benchmarks.first_day [--data ../shared/data] [--json [FILE]]

A home gets the transcripts of all projects and the rule files of eight public ones. `minutes`: from the start of
`oneiros init --all` to the end of `oneiros dream apply`, by which a person at a terminal takes up the first thirty
statements that `oneiros import` proposed; the daemon indexes beside it, until `indexed_minutes` (`--indexed`).
`imported`: statements that the import proposed; `accepted_after_start`: statements in topics at the end. `duplicates`
is from `benchmarks.duplicates`, `pointer_precision` and `foreign_pointers` from `benchmarks.first_day_pointers`.
"""

import argparse
import json
import lzma
import os
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.duplicates import measure as measure_duplicates
from benchmarks.first_day_pointers import measure as measure_pointers
from benchmarks.layouts import find_projects, read_lines
from benchmarks.machine import machine_text
from dream.topics import read_topics
from tests.system.at_terminal import WORD, at_terminal
from tests.system.house import House, wait_until

REPOSITORIES = 8
WANTED = 30  # statements in topics
PROPOSAL = re.compile(r"\d{4}-\d{2}-\d{2}-\d+")


def main() -> None:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--json", nargs="?", const="-", help="figures to FILE, or to the output alone")
    parser.add_argument("--vectors", type=Path, default=Path("benchmarks/out/vectors"))
    parser.add_argument("--indexed", action="store_true", help="wait until the daemon has indexed it all, too")
    arguments = parser.parse_args()
    arguments.vectors.mkdir(parents=True, exist_ok=True)
    if arguments.json != "-":
        print(machine_text(), "load", *(f"{load:.1f}" for load in os.getloadavg()))
    house = House()
    try:
        found = first_day(house, arguments.data, indexed=arguments.indexed)
    finally:
        house.close()
    found |= measure_duplicates(arguments.data) | measure_pointers(arguments.data, arguments.vectors.resolve())
    text = json.dumps(found, indent=2)
    print(text)
    if arguments.json and arguments.json != "-":
        Path(arguments.json).write_text(text + "\n", encoding="utf-8")


def first_day(house: House, data: Path, *, indexed: bool) -> dict[str, Any]:
    """The day of one person, in a house whose memory is emptied before; `indexed`: to the end of the daemon's work."""
    for topic in (house.root / "topics").glob("*.md"):
        topic.unlink()
    house.settle(trusted_roots=[str(house.root)])
    home = house.folder / ".claude" / "projects"
    transcripts = sum(unpack(place, home / name) for name, place in find_projects(data).items())
    folders = list(write_rules(data / "dream_real" / "rules.jsonl", house.folder / "src"))
    begun = time.monotonic()
    house.command("init", "--all", seconds=1_800)
    known = time.monotonic()
    imported = house.command("import", "--others", "--json", *map(str, folders), seconds=600)
    offered = json.loads(imported.stdout)
    hunks = json.loads(house.command("review", "--json").stdout)["hunks"]
    wanted = [one["id"] for one in hunks if one["proposal"] == offered["proposal"]][:WANTED]
    chosen = [word for name in wanted for word in ("--hunk", name)]
    seen = at_terminal(house, [WORD], "dream", "apply", offered["proposal"], *chosen)
    assert seen.code == 0, seen.screen
    ended = time.monotonic()
    statements = sum(len(topic.statements) for topic in read_topics(house.memory_root).files)
    topics = len(list((house.root / "topics").rglob("*.md")))
    found = {
        "transcripts": transcripts,
        "minutes": (ended - begun) / 60,
        "minutes_of_init_all": (known - begun) / 60,
        "imported": offered["offered"],
        "topics": topics,
        "accepted_after_start": statements,
    }
    if indexed:
        wait_until(lambda: house.client.ask("GET", "/api/indexing")["stage"] == "idle", 3_600)
        found["indexed_minutes"] = (time.monotonic() - begun) / 60
    return found


def unpack(source: Path, target: Path) -> int:
    """Transcripts as the client leaves them; how many."""
    files = sorted(source.rglob("*.jsonl*"))
    for file in files:
        content = file.read_bytes()
        made = target / file.relative_to(source)
        made.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".xz":
            made, content = made.with_suffix(""), lzma.decompress(content)
        made.write_bytes(content)
    return len(files)


def write_rules(file: Path, folder: Path) -> Iterator[Path]:
    """The rule files of the repositories with most of them, a bullet a rule in the order of the file."""
    repositories: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for rule in read_lines(file):
        repositories[rule["repo"]][rule["file"]].append(rule["text"])
    largest = sorted(repositories, key=lambda name: (-sum(map(len, repositories[name].values())), name))
    for name in largest[:REPOSITORIES]:
        project = folder / name.rpartition("/")[2]
        for path, rules in repositories[name].items():
            made = project / path
            made.parent.mkdir(parents=True, exist_ok=True)
            made.write_text(_page(name, rules), encoding="utf-8")
        yield project


def _page(name: str, rules: Sequence[str]) -> str:
    return f"# {name}\n\n" + "".join(f"- {rule}\n" for rule in rules)


if __name__ == "__main__":
    main()
