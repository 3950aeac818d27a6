"""Whether what hooks push is right: pointers at prompts, hints at files, lessons at errors.

    python -m benchmarks.first_day_pointers --json

A memory a project, of what a reader would keep of its sessions (`pointer_topics.tsv` groups these statements in
topics). Own: for a hundred prompts of the same projects a reader said, before anything was run, which statements they
would want pushed, if any (`pointer_labels.tsv`; prompts that a statement rests on were left out). Foreign: every prompt
of the other projects, on which nothing should be pushed. The rule was chosen on the first two projects, the others were
held back; a project that nobody grouped has one topic and is asked foreign prompts alone. `before` is the rule that
pushed the first statement of each passage near the prompt, asked in the same run.

Hints and lessons: calls of tools and their errors out of the same sessions, on the own and on the other memories. What
was pushed at them has no labels.
"""

import argparse
import csv
import json
import random
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.intake import on_disk, unpacked
from benchmarks.layouts import Case, projects_in, read_lines
from benchmarks.machine import machine_text
from benchmarks.metrics import confidence, percentile
from benchmarks.systems import built_memory, model_text
from memory_server.memory import Memory
from memory_server.search.query import clean
from memory_server.search.question import Search
from memory_server.search.ranking.ranking import FLOOR
from oneiros.hooks.after_tool import answer_after_tool
from oneiros.hooks.before_tool import answer_before_tool
from oneiros.hooks.call import HookCall, both_ends, parse_call
from oneiros.hooks.pointers import looked_up, pointer_line, statements
from oneiros.hooks.prompt import MAX_PROMPT_CHARS, answer_prompt

TOPICS, LABELS = (Path(__file__).with_name(name) for name in ("pointer_topics.tsv", "pointer_labels.tsv"))
CHOSEN_ON = ("cipher-box", "claude-code-log")  # projects; the rule did not see the prompts of the others
POINTER = re.compile(r"^- .*? \((?:topics/\S+|lessons\.md):\d+\): (.*)$", re.MULTILINE)
CALLS_EACH = 150  # tool calls of a project, and as many errors
LEAST_SHARE, MOST_BEFORE = 0.75, 3  # of the rule before: of the best passage's score, and how many at most
BUDGET = 2_000


@dataclass(frozen=True, slots=True)
class Prompt:
    """A person's words, and what a reader would want pushed for them; None where nobody was asked."""

    project: str
    text: str
    wanted: frozenset[str] | None = None


@dataclass(slots=True)
class Pushed:
    """What one rule pushed, on some prompts."""

    right: list[float] = field(default_factory=list)  # a pointer each: 1 where it was wanted
    met: list[float] = field(default_factory=list)  # a prompt each that wants something: 1 where it got it
    foreign: list[float] = field(default_factory=list)  # a prompt each to another memory: 1 where anything was pushed
    seconds: list[float] = field(default_factory=list)

    def figures(self) -> dict[str, Any]:
        return {
            "precision": mean_of(self.right),
            "precision_95": confidence(self.right),
            "pushed": len(self.right),
            "wanted_met": mean_of(self.met),
            "wanted": len(self.met),
            "foreign": mean_of(self.foreign),
            "foreign_95": confidence(self.foreign),
            "foreign_prompts": len(self.foreign),
            "ms_p50": 1_000 * percentile(self.seconds, 0.5),
            "ms_p95": 1_000 * percentile(self.seconds, 0.95),
        }


def main() -> None:
    """Reads the command line, asks, prints the figures and writes the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=Path("../shared/data"), help="the folder of shared data")
    parser.add_argument("--json", nargs="?", const="-", help="figures to FILE, or to the output")
    parser.add_argument("--vectors", type=Path, default=Path("benchmarks/out/vectors"))
    options = parser.parse_args()
    options.vectors.mkdir(parents=True, exist_ok=True)
    figures = measured(options.shared, options.vectors.resolve())
    text = json.dumps(figures, indent=2)
    if options.json and options.json != "-":
        Path(options.json).write_text(text + "\n", encoding="utf-8")
    if options.json != "-":
        print(machine_text(), f"\nmodel: {model_text()}")
    print(text)


def measured(shared: Path, vectors: Path) -> dict[str, Any]:
    """Every figure; `pointer_precision` and `foreign_pointers` are of the projects that were held back.

    A figure of which the data holds nothing is None.
    """
    said, lessons = statements_of(shared), lessons_of(shared)
    prompts = {project: list(prompts_of(shared, project)) for project in said}
    calls = {project: list(calls_of(shared, project)) for project in said}
    found = {(rule, half): Pushed() for rule in RULES for half in ("chosen_on", "held_back")}
    tools = {(kind, of): [0, 0] for kind in ("hints", "lessons") for of in ("own", "foreign")}
    for project, topics in said.items():
        ids = {text: name for topic in topics.values() for name, text in topic.items()}
        with built_memory(Case(project, files_of(topics, lessons[project])), vectors) as memory:
            for other in said:
                half = "chosen_on" if {project, other} <= set(CHOSEN_ON) else "held_back"
                for number, prompt in enumerate(prompts[other]):
                    for rule in sorted(RULES, reverse=bool(number % 2)):  # the second finds the words' tables read
                        ask(memory, prompt, rule, found[rule, half], ids if other == project else None)
                count_tools(memory, calls[other], tools, "own" if other == project else "foreign")
    held = found["now", "held_back"].figures()
    return {
        "pointer_precision": held["precision"],
        "foreign_pointers": held["foreign"],
        **{f"{rule}_{half}": pushed.figures() for (rule, half), pushed in found.items()},
        **{f"{kind}_{of}": {"calls": asked, "pushed": pushed} for (kind, of), (asked, pushed) in tools.items()},
    }


def ask(memory: Memory, prompt: Prompt, rule: str, found: Pushed, ids: Mapping[str, str] | None) -> None:
    """One prompt to one memory by one rule; `ids`: the statements of the prompt's own memory."""
    if ids is not None and prompt.wanted is None:
        return
    begun = time.perf_counter()
    lines = RULES[rule](memory, prompt.text)
    found.seconds.append(time.perf_counter() - begun)
    if ids is None or prompt.wanted is None:
        found.foreign.append(float(bool(lines)))
        return
    names = [next((name for text, name in ids.items() if text.startswith(line.rstrip("…"))), "") for line in lines]
    right = [float(name in prompt.wanted) for name in names]
    found.right += right
    if prompt.wanted:
        found.met.append(max(right, default=0.0))


def pushed_now(memory: Memory, text: str) -> list[str]:
    """The statements that the hook points to."""
    return POINTER.findall(answer_prompt(memory, HookCall("UserPromptSubmit", prompt=text), set(), BUDGET).context)


def pushed_before(memory: Memory, text: str) -> list[str]:
    """Those that it pointed to before: the first of each passage that recall found, where it is sure enough."""
    asks = text.strip()
    if not asks or asks.startswith(("/", "!", "#", "<")) or len(asks.split()) < 2:
        return []
    answer = looked_up(memory, Search.RECALL, clean(both_ends(asks, MAX_PROMPT_CHARS, " ")).split(), 8)
    best = max((hit.score for hit in answer.hits), default=0.0)
    hits = [hit for hit in answer.hits if answer.confidence >= FLOOR and hit.score >= LEAST_SHARE * best]
    first = [(hit, next(statements(hit.passage), (0, ""))) for hit in hits[:MOST_BEFORE]]
    return POINTER.findall("\n".join(pointer_line(hit, *found) for hit, found in first))


RULES = {"now": pushed_now, "before": pushed_before}


def count_tools(memory: Memory, calls: Sequence[HookCall], counts: dict[tuple[str, str], list[int]], of: str) -> None:
    """Counts calls, and those at which a hint or lesson was pushed."""
    for call in calls:
        is_error = call.event != "PreToolUse"
        answer = (answer_after_tool if is_error else answer_before_tool)(memory, call, set(), BUDGET)
        count = counts["lessons" if is_error else "hints", of]
        count[0] += 1
        count[1] += bool(answer.context)


# -- what is asked ---------------------------------------------------------------------------------------------------


def lessons_of(shared: Path) -> dict[str, list[str]]:
    """By project, the statements that a reader called lessons: they stand in lessons.md too."""
    kinds = {row["id"]: row["type"] for row in read_lines(shared / "dream_real" / "labels.jsonl")}
    return {
        project: [text for topic in topics.values() for name, text in topic.items() if kinds[name] == "lesson"]
        for project, topics in statements_of(shared).items()
    }


def statements_of(shared: Path) -> dict[str, dict[str, dict[str, str]]]:
    """By project and topic, the statements by id."""
    said: dict[str, dict[str, Mapping[str, Any]]] = defaultdict(dict)
    for row in read_lines(shared / "dream_real" / "labels.jsonl"):
        said[Path(row["corpus"]).name][row["id"]] = row
    found: dict[str, dict[str, dict[str, str]]] = defaultdict(dict)
    for topic in table(TOPICS):
        rows = said[topic["project"]]
        if names := [name for name in topic["statements"].split() if name in rows]:
            found[topic["project"]][topic["topic"]] = {name: rows[name]["statement"] for name in names}
    for project in sorted(said.keys() - found.keys()):
        kept = {name: row["statement"] for name, row in said[project].items() if row["durability"] > 1}
        found |= {project: {project: kept}} if kept else {}
    return found


def files_of(topics: Mapping[str, Mapping[str, str]], lessons: Sequence[str]) -> dict[str, str]:
    """A file a topic, a line a statement."""
    files = {"lessons.md": "# Lessons\n\n" + "".join(f"- {text}\n" for text in lessons)} if lessons else {}
    for title, said in topics.items():
        lines = "".join(f"- {text}\n" for text in said.values())
        head = f"---\ntype: semantic\ntitle: {title}\ncreated: 2026-01-01\n---\n\n# {title}\n\n"
        files[f"topics/{title.lower().replace(' ', '-')}.md"] = head + lines
    return files


def prompts_of(shared: Path, project: str) -> Iterator[Prompt]:
    """Every prompt that a person typed in a project's sessions, with a reader's labels where there are some."""
    labelled = {row["entry"]: frozenset(row["wanted"].split()) for row in table(LABELS)}
    base = projects_in(shared)[project].parent
    rows = [row for row in read_lines(base / "human_prompts.jsonl") if row["file"].startswith(f"{project}/")]
    for file in sorted({row["file"] for row in rows}):
        records = unpacked(on_disk(base / file)).decode("utf-8").splitlines()
        for row in rows:
            if row["file"] == file and (text := text_of(json.loads(records[row["line"] - 1]))):
                yield Prompt(project, text, labelled.get(row["uuid"]))


def text_of(record: Mapping[str, Any]) -> str:
    """What a record of a transcript says; empty where it is no message."""
    content = (record.get("message") or {}).get("content", "")
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content if part.get("type") == "text")


def calls_of(shared: Path, project: str) -> Iterator[HookCall]:
    """Tool calls of a project and results that failed, some of each, as the client tells its hooks of them."""
    folder = projects_in(shared)[project]
    before: list[HookCall] = []
    after: list[HookCall] = []
    for file in sorted(folder.rglob("*.jsonl*")):
        for line in unpacked(file).decode("utf-8", "replace").splitlines():
            for part in parts_of(line):
                if part.get("type") == "tool_use":
                    told = {"tool_name": part.get("name"), "tool_input": part.get("input")}
                    before.append(parse_call("PreToolUse", told))
                elif part.get("type") == "tool_result" and part.get("is_error"):
                    told = {"error": str(part.get("content", ""))}
                    after.append(parse_call("PostToolUseFailure", told))
    dice = random.Random(23)  # noqa: S311  a sample, not secrecy
    for found in (before, after):
        yield from dice.sample(found, min(CALLS_EACH, len(found)))


def parts_of(line: str) -> list[dict[str, Any]]:
    """The parts of a message; none where the line holds no such."""
    try:
        record = json.loads(line)
    except ValueError:
        return []
    content = (record.get("message") or {}).get("content") if isinstance(record, dict) else None
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def table(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t"))


def mean_of(values: Sequence[float]) -> float | None:
    return round(fmean(values), 4) if values else None


if __name__ == "__main__":
    main()
