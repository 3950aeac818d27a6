"""What an import makes of rule files: topics that a reader would choose, and what it leaves of the same said twice.

    python -m benchmarks.first_day_topics --data ../shared/data [--json FILE]

`subject_labels.tsv` gives 166 statements of ten projects the subject that a reader would file them under, written
before the first run: 120 rules of eight repositories of `dream_real/rules.jsonl` (every fourth), whose headings stand
in `subject_headings.tsv` as the repositories have them, and 46 statements of two projects' transcripts, which have
none. All statements of a project are grouped; the labelled ones are judged. Half of the projects were held out while
the numbers of `dream/subjects/grouping.py` were chosen.

right_topic     statements that stand in a topic whose commonest subject is theirs, where that topic holds a third or
                more of the subject's statements: neither mixed nor scattered
purity          the first half of that alone
b_cubed, pairs  F1 of the groups against the subjects, by statements and by pairs of them
duplicates      of the statements left when doubles were planted behind each project, those that say again what another
                says: copies, copies in another form (case, bullet, punctuation), and the rewordings by hand of
                `subject_rewordings.tsv`; with the packaged embedder, and by words alone
"""

import argparse
import csv
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from benchmarks.layouts import read_lines
from dream.subjects.grouping import Item, grouped
from dream.written.duplicates import Embed, embedder_of, same_as_earlier
from memory_server.embedding.catalogue import packaged_model
from memory_server.embedding.onnx_engine import OnnxEngine

HERE = Path(__file__).parent
LABELS, HEADINGS, REWORDINGS = (HERE / f"subject_{name}.tsv" for name in ("labels", "headings", "rewordings"))
TRANSCRIPTS = "transcripts/"
SCATTERED = 3  # a topic with less than the third of a subject's statements is a splinter of it
COPIES_EVERY = 20  # statements, of which one is planted again as it stands and one in another form
Groups = Sequence[Sequence[int]]
Grouping = Callable[[Sequence[Item]], Groups]


@dataclass(frozen=True, slots=True)
class Project:
    """All statements of one project, in the order of their files, and the subjects of those that are labelled."""

    name: str
    is_held_out: bool
    ids: tuple[str, ...]
    items: tuple[Item, ...]
    subjects: dict[int, str]  # by place


def measured(data: Path) -> dict[str, Any]:
    """The figures for the first day."""
    projects, embed = list(read_projects(data)), embed_packaged()
    topics = right_topic(projects)
    doubles = duplicates(projects, embed)
    return {
        "right_topic": topics["all"].get("right"),
        "duplicates": doubles["left"],
        "topics_of_subjects": topics,
        "doubles_by_sort": doubles["of"],
        "doubles_by_words_alone": duplicates(projects, None),
    }


def embed_packaged() -> Embed | None:
    """The packaged model; None where it is not installed."""
    files = packaged_model()
    return embedder_of(lambda: OnnxEngine(files)) if files else None


def read_projects(data: Path) -> list[Project]:
    """The labelled projects that the data holds: all ten of them, or those that it shares."""
    labels = {row["id"]: row for row in table(LABELS)}
    rules, said = defaultdict(list), defaultdict(list)
    for rule in read_lines(data / "dream_real/rules.jsonl"):
        rules[rule["repo"]].append(rule)
    for label in read_lines(data / "dream_real/labels.jsonl"):
        if label["durability"] > 1:
            said[label["corpus"]].append(label)
    projects = []
    for name in dict.fromkeys(key.rpartition(":")[0] for key in labels):
        if name.startswith(TRANSCRIPTS):
            ids = [f"{name}:{row['id']}" for row in said[name]]
            items = [Item(row["statement"], (), row["session"]) for row in said[name]]
        else:
            ids = [f"{name}:{place}" for place in range(len(rules[name]))]
            items = [
                Item(row["text"], above, row["file"])
                for row, above in zip(rules[name], headings_of(name, len(ids)), strict=True)
            ]
        subjects = {
            place: labels[key]["subject"]
            for place, (key, item) in enumerate(zip(ids, items, strict=True))
            if key in labels and item.text.startswith(labels[key]["text"])
        }
        if not subjects:
            continue
        half = next(row["half"] for key, row in labels.items() if key.rpartition(":")[0] == name)
        projects.append(Project(name, half == "held-out", tuple(ids), tuple(items), subjects))
    return projects


def headings_of(repository: str, count: int) -> list[tuple[str, ...]]:
    """The headings above each statement of a repository."""
    starts = {int(row["from"]): row["headings"] for row in table(HEADINGS) if row["repo"] == repository}
    found: list[tuple[str, ...]] = []
    for place in range(count):
        headings = tuple(filter(None, starts[place].split(" > "))) if place in starts else None
        found.append(headings if headings is not None else found[-1] if found else ())
    return found


def table(file: Path) -> list[dict[str, str]]:
    """The rows of a table with a head; quotation marks mean nothing in it."""
    with file.open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


# -- topics that a reader would choose -------------------------------------------------------------------------------


def right_topic(projects: Sequence[Project]) -> dict[str, dict[str, float]]:
    """The figures of all projects, of each half, without headings, and of plain ways to group."""
    held = [project for project in projects if project.is_held_out]
    tuned = [project for project in projects if not project.is_held_out]
    bare = [Project(p.name, p.is_held_out, p.ids, tuple(map(without_headings, p.items)), p.subjects) for p in projects]
    return {
        "all": judged(projects, grouped),
        "tuned_on": judged(tuned, grouped),
        "held_out": judged(held, grouped),
        "without_headings": judged(bare, grouped),
        "one_topic_a_project": judged(projects, lambda items: [range(len(items))]),
        "by_file": judged(projects, lambda items: by(items, lambda item: item.source)),
        "by_heading": judged(projects, lambda items: by(items, lambda item: (item.source, item.headings))),
    }


def without_headings(item: Item) -> Item:
    return Item(item.text, (), item.source)


def by(items: Sequence[Item], key: Callable[[Item], object]) -> Groups:
    groups: dict[object, list[int]] = defaultdict(list)
    for place, item in enumerate(items):
        groups[key(item)].append(place)
    return list(groups.values())


def judged(projects: Sequence[Project], group: Grouping) -> dict[str, float]:
    """Figures over all labelled statements of these projects."""
    sums: Counter[str] = Counter()
    for project in projects:
        groups = group(project.items)
        sums.update({"topics": len(groups), "statements": len(project.items)})
        sums.update(counts_of(groups, project.subjects))
    labelled = sums["labelled"]
    if not labelled:
        return {}
    return {
        "right": sums["right"] / labelled,
        "purity": sums["pure"] / labelled,
        "b_cubed": f1(sums["precision"] / labelled, sums["recall"] / labelled),
        "pairs": f1(sums["both"] / max(1, sums["together"]), sums["both"] / max(1, sums["alike"])),
        "statements_a_topic": sums["statements"] / sums["topics"],
        "labelled": labelled,
    }


def counts_of(groups: Groups, subjects: dict[int, str]) -> Counter[str]:
    """What one project adds to the sums."""
    found: Counter[str] = Counter()
    of_subject = Counter(subjects.values())
    for group in groups:
        there = [subjects[place] for place in group if place in subjects]
        counts = Counter(there)
        commonest = min(counts, key=lambda subject: (-counts[subject], subject), default="")
        for subject in there:
            is_pure = subject == commonest
            found["pure"] += is_pure
            found["right"] += is_pure and counts[subject] * SCATTERED >= of_subject[subject]
            found["precision"] += counts[subject] / len(there)  # type: ignore[assignment]  # a sum of shares
            found["recall"] += counts[subject] / of_subject[subject]  # type: ignore[assignment]  # likewise
        found["together"] += len(there) * (len(there) - 1) // 2
        found["both"] += sum(one == other for one, other in combinations(there, 2))
    found["alike"] = sum(count * (count - 1) // 2 for count in of_subject.values())
    found["labelled"] = len(subjects)
    return found


def f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / max(1e-9, precision + recall)


# -- what is said twice ----------------------------------------------------------------------------------------------


def duplicates(projects: Sequence[Project], embed: Embed | None) -> dict[str, Any]:
    """The share of planted doubles among what is left, how many of each sort stay, and what else was dropped."""
    rewordings = {row["id"]: row["text"] for row in table(REWORDINGS)}
    planted: Counter[str] = Counter()
    left: Counter[str] = Counter()
    kept = dropped = 0
    for project in projects:
        texts = [item.text for item in project.items]
        doubles = [("copy", text) for text in texts[::COPIES_EVERY]]
        doubles += [("form", in_another_form(text)) for text in texts[COPIES_EVERY // 2 :: COPIES_EVERY]]
        doubles += [("rewording", rewordings[key]) for key in project.ids if key in rewordings]
        same = same_as_earlier([*texts, *(text for _, text in doubles)], embed)
        planted.update(sort for sort, _ in doubles)
        left.update(sort for (sort, _), place in zip(doubles, same[len(texts) :], strict=True) if place is None)
        kept += sum(place is None for place in same)
        dropped += sum(place is not None for place in same[: len(texts)])
    of = {sort: {"planted": planted[sort], "left": left[sort]} for sort in planted}
    return {"left": left.total() / kept if kept else None, "of": of, "dropped_beside": dropped}


def in_another_form(text: str) -> str:
    """The same words with another bullet, case and punctuation."""
    return f"* **{text[:1].swapcase()}{text[1:].rstrip('.')}**!"


def main() -> None:
    """Measures, prints and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    found = json.dumps(measured(arguments.data), indent=2)
    print(found)
    if arguments.json:
        arguments.json.write_text(found + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
