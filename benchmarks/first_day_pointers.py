"""Whether what hooks push is right: statements at prompts, hints at files, lessons at errors.

    python -m benchmarks.first_day_pointers --json FILE

A memory a project, of what a reader would keep of its sessions (`pointer_topics.tsv` groups these statements in topics;
a project that nobody grouped has one). Written: prompts as a person of the project would type them, each with the
statements that bear on it (`pointer_prompts.tsv`, written before anything was run). Labelled: a hundred prompts of the
same persons, of which a reader said before anything was run which statements they would want pushed, if any
(`pointer_labels.tsv`). Foreign: prompts of the other projects, on which nothing should be pushed: what topics of no
project would say, since of those of another one nothing is ever looked at. The rule was chosen on the written prompts
of four projects; those of HELD_BACK were left out.

The same is asked of plain rules: the best statement by FTS5, by cosine of the packaged model, and by reciprocal rank
fusion of both, each pushed from the score on that is exceeded by .02 of the foreign prompts of the projects chosen on.

Border: one memory of all projects, whose topics name them; sessions of all of them start and ask there.

Hints and lessons (`--calls`): calls of tools and their errors out of the same sessions, on the own and on the other
memories. What was pushed at them has no labels.
"""

import argparse
import csv
import json
import random
import re
import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.intake import on_disk, unpack
from benchmarks.layouts import Case, find_projects, read_lines
from benchmarks.machine import machine_text
from benchmarks.metrics import confidence, percentile
from benchmarks.systems import built_memory, model_text, words_query
from memory_server.memory import Memory
from oneiros.hooks.call import HookCall, both_ends, parse_call
from oneiros.hooks.pointers import CLOSE, CLOSE_EVERYWHERE, closest
from oneiros.hooks.prompt import LEAST_WORDS, MAX_PROMPT_CHARS, answer_prompt
from oneiros.hooks.session_start import ReviewLines, answer_session_start
from oneiros.hooks.tool_use import answer_after_tool, answer_before_tool

TOPICS, LABELS, PROMPTS = (Path(__file__).with_name(f"pointer_{name}.tsv") for name in ("topics", "labels", "prompts"))
HELD_BACK = ("entire-cli", "oh-my-posh", "context-evaluator")  # the rule did not see their prompts
POINTER = re.compile(r"^- .*? \((?:topics/\S+|lessons\.md):\d+\): (.*)$", re.MULTILINE)
CALLS_EACH = 150  # tool calls of a project, and as many errors
FOREIGN_EACH = 50  # prompts of a project that other memories are asked
PROMPTS_EACH = 1  # of a session, in the memory of all projects
SESSIONS = 200  # at most, that start in the memory of all projects
FOREIGN = 0.02
RRF = 60  # of reciprocal rank fusion, as usual
BUDGET = 2_000


@dataclass(frozen=True, slots=True)
class Prompt:
    """A person's words, and what should be pushed for them; None where nobody was asked."""

    project: str
    text: str
    session: str = ""
    wanted: frozenset[str] | None = None

    @property
    def is_written(self) -> bool:
        return not self.session


@dataclass(frozen=True, slots=True)
class Best:
    """The statement that a rule would push for a prompt in a memory, with its score."""

    prompt: Prompt
    memory: str
    score: float
    statement: str


@dataclass(slots=True)
class Calls:
    """Calls of tools on the own and on other memories, and how many brought something."""

    total: int = 0
    pushed: int = 0
    seconds: list[float] = field(default_factory=list)


Rule = Callable[[Memory, Mapping[str, str], str], tuple[float, str]]  # memory, statements, prompt: score and statement


def main() -> None:
    """Reads the command line, asks, prints the figures and writes the JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shared", type=Path, default=Path("../shared/data"), help="the folder of shared data")
    parser.add_argument("--json", nargs="?", const="-", help="figures to FILE, or to the output")
    parser.add_argument("--calls", action="store_true", help="hints and lessons too, which takes as long again")
    parser.add_argument("--vectors", type=Path, default=Path("benchmarks/out/vectors"))
    options = parser.parse_args()
    options.vectors.mkdir(parents=True, exist_ok=True)
    figures = measure(options.shared, options.vectors.resolve(), with_calls=options.calls)
    text = json.dumps(figures, indent=2)
    if options.json and options.json != "-":
        Path(options.json).write_text(text + "\n", encoding="utf-8")
    if options.json != "-":
        print(machine_text(), f"\nmodel: {model_text()}")
    print(text)


def measure(shared: Path, vectors: Path, *, with_calls: bool = False) -> dict[str, Any]:
    """Every figure, of the set in `shared` and the second one beside it.

    `pointer_precision`, `pointers_met` and `foreign_pointers` are of the projects that were held back.
    """
    folders = [folder for folder in (shared, shared.with_name("data2")) if folder.is_dir()]
    statements = read_statements(folders)
    prompts = {project: list(read_prompts(folders, project)) for project in statements}
    best: dict[str, list[Best]] = defaultdict(list)
    seconds: dict[str, list[float]] = defaultdict(list)
    calls = {(kind, of): Calls() for kind in ("hints", "lessons") for of in ("own", "foreign")}
    tool_calls = {project: list(read_calls(folders, project)) if with_calls else [] for project in statements}
    for project, topics in statements.items():
        texts = {name: text for topic in topics.values() for name, text in topic.items()}
        with built_memory(Case(project, make_files(topics, read_lessons(folders, project))), vectors) as memory:
            rules: dict[str, Rule] = {"mutual": by_match, **plain_rules(memory, texts)}
            own = [one for one in prompts[project] if one.wanted is not None]
            foreign = [one for other in statements if other != project for one in draw_sample(prompts[other])]
            for prompt in (*own, *foreign):
                for name, rule in rules.items():
                    begun = time.perf_counter()
                    score, statement = rule(memory, texts, prompt.text)
                    seconds[name].append(time.perf_counter() - begun)
                    best[name].append(Best(prompt, project, score, statement))
            for other in statements:
                count_tools(memory, tool_calls[other], calls, "own" if other == project else "foreign")
    shipped = best.pop("mutual")
    rows = {"mutual": count_figures(shipped, CLOSE), "mutual_everywhere": count_figures(shipped, CLOSE_EVERYWHERE)}
    rows |= {name: count_figures(found, None) for name, found in best.items()}
    return {
        "pointer_precision": rows["mutual"]["held_back"]["right"],
        "pointers_met": rows["mutual"]["held_back"]["met"],
        "foreign_pointers": rows["mutual_everywhere"]["held_back"]["foreign"],
        **rows,
        "border": border(statements, prompts, vectors),
        **{f"{kind}_{of}": {"calls": one.total, "pushed": one.pushed} for (kind, of), one in calls.items()},
        "ms": {name: [1_000 * percentile(taken, share) for share in (0.5, 0.95)] for name, taken in seconds.items()},
    }


def draw_sample(prompts: Sequence[Prompt]) -> list[Prompt]:
    """Some of the prompts that a person typed in a project's sessions, the same each time."""
    typed = [one for one in prompts if not one.is_written]
    return random.Random(31).sample(typed, min(FOREIGN_EACH, len(typed)))  # noqa: S311  a sample, not secrecy


def count_figures(found: Sequence[Best], least: float | None) -> dict[str, Any]:
    """The figures of one rule by halves; `least`: from which score on it pushes, chosen here where none is given."""
    halves: dict[str, list[Best]] = {"chosen_on": [], "held_back": []}
    for one in found:
        is_held = one.memory in HELD_BACK
        if is_held == (one.prompt.project in HELD_BACK) or not one.prompt.is_written:
            halves["held_back" if is_held else "chosen_on"].append(one)
    if least is None:
        foreign = [one.score for one in halves["chosen_on"] if is_foreign(one) and one.prompt.project not in HELD_BACK]
        least = float(np.quantile(foreign, 1 - FOREIGN))
    return {"from": least, **{half: score_half(rows, least) for half, rows in halves.items()}}


def is_foreign(one: Best) -> bool:
    return one.prompt.project != one.memory and not one.prompt.is_written


def score_half(rows: Sequence[Best], least: float) -> dict[str, Any]:
    own = [one for one in rows if one.prompt.project == one.memory]
    pushed = [one for one in own if one.score >= least]
    foreign = [float(one.score >= least) for one in rows if is_foreign(one)]
    figures: dict[str, Any] = {
        "foreign": compute_mean(foreign),
        "foreign_95": confidence(foreign),
        "foreign_prompts": len(foreign),
    }
    for name, is_written in (("", True), ("labelled_", False)):
        right = [is_right(one) for one in pushed if one.prompt.is_written is is_written]
        wanting = [one for one in own if one.prompt.is_written is is_written and one.prompt.wanted]
        met = [is_right(one) if one.score >= least else 0.0 for one in wanting]
        figures |= {
            f"{name}right": compute_mean(right),
            f"{name}right_95": confidence(right),
            f"{name}pushed": len(right),
        }
        figures |= {f"{name}met": compute_mean(met), f"{name}met_95": confidence(met), f"{name}wanting": len(met)}
    return figures


def is_right(one: Best) -> float:
    return float(one.statement in (one.prompt.wanted or ()))


def by_match(memory: Memory, texts: Mapping[str, str], prompt: str) -> tuple[float, str]:
    """The statement that the hook would push, and how close it is."""
    found = closest(memory, both_ends(prompt, MAX_PROMPT_CHARS, " "), "")
    if not found:
        return 0.0, ""
    line = "".join(POINTER.findall(found[0][1].line)).rstrip("…")
    return found[0][0], next((name for name, text in texts.items() if text.startswith(line)), "")


def plain_rules(memory: Memory, texts: Mapping[str, str]) -> dict[str, Rule]:
    """FTS5, cosines, and both fused, over the statements of one memory."""
    names = list(texts)
    vectors = np.stack([one.vector for one in memory.engine().embed(list(texts.values()))])
    connection = sqlite3.connect(":memory:")
    connection.execute("create virtual table said using fts5(text, tokenize='porter unicode61')")
    connection.executemany("insert into said(rowid, text) values(?, ?)", list(enumerate(texts.values())))

    def by_words(prompt: str) -> dict[int, float]:
        query = words_query(prompt)
        rows = connection.execute("select rowid, -bm25(said) from said where said match ?", (query,)) if query else ()
        return dict(rows)

    def best_words(_: Memory, __: Mapping[str, str], prompt: str) -> tuple[float, str]:
        scores = by_words(prompt)
        place = max(scores, key=lambda one: scores[one], default=-1)
        return (scores[place], names[place]) if place >= 0 else (0.0, "")

    def best_cosine(_: Memory, __: Mapping[str, str], prompt: str) -> tuple[float, str]:
        cosines = vectors @ memory.embed_query(prompt).vector
        return float(cosines.max()), names[int(cosines.argmax())]

    def best_fused(_: Memory, __: Mapping[str, str], prompt: str) -> tuple[float, str]:
        """Ranks choose the statement; they say nothing of whether to speak, so its cosine does."""
        cosines, words = vectors @ memory.embed_query(prompt).vector, by_words(prompt)
        ranks = np.zeros(len(names))
        for order in (list(np.argsort(-cosines)), sorted(words, key=lambda one: -words[one])):
            ranks[order] += 1 / (RRF + 1 + np.arange(len(order)))
        return float(cosines[int(ranks.argmax())]), names[int(ranks.argmax())]

    return {"fts5": best_words, "cosine": best_cosine, "rrf": best_fused}


def border(
    statements: Mapping[str, Mapping[str, Mapping[str, str]]], prompts: Mapping[str, Sequence[Prompt]], vectors: Path
) -> dict[str, int]:
    """Sessions that start and ask in one memory of all projects: how many were given something of another one."""
    files = {
        name: text for project, topics in statements.items() for name, text in make_files(topics, (), project).items()
    }
    texts = {
        project: [text for one in topics.values() for text in one.values()] for project, topics in statements.items()
    }
    dealt = [(project, one.session) for project in statements for one in prompts[project] if one.session]
    sessions = list(dict.fromkeys(dealt))
    random.Random(29).shuffle(sessions)  # noqa: S311  a sample, not secrecy
    counts = {"sessions": 0, "prompts": 0, "given": 0, "foreign_pushed": 0, "foreign_at_start": 0}
    with built_memory(Case("all", files), vectors) as memory:
        for project, session in sessions[:SESSIONS]:
            folder = f"/nonexistent/{project}"
            call = HookCall("SessionStart", session_id=session, folder=folder)
            start = answer_session_start(memory, call, Path("/nonexistent/home"), BUDGET, ReviewLines()).context
            counts["sessions"] += 1
            counts["foreign_at_start"] += any(f"(topics/{other}/" in start for other in statements if other != project)
            for prompt in [one for one in prompts[project] if one.session == session][:PROMPTS_EACH]:
                call = HookCall("UserPromptSubmit", prompt=prompt.text, folder=folder)
                lines = POINTER.findall(answer_prompt(memory, call, set(), BUDGET).context)
                counts["prompts"] += 1
                counts["given"] += bool(lines)
                ours = texts[project]
                counts["foreign_pushed"] += any(
                    not any(text.startswith(line.rstrip("…")) for text in ours) for line in lines
                )
    return counts


def count_tools(memory: Memory, calls: Sequence[HookCall], counts: dict[tuple[str, str], Calls], of: str) -> None:
    """Counts calls, and those at which a hint or lesson was pushed."""
    for call in calls:
        is_error = call.event != "PreToolUse"
        answer = (answer_after_tool if is_error else answer_before_tool)(memory, call, set(), BUDGET)
        count = counts["lessons" if is_error else "hints", of]
        count.total += 1
        count.pushed += bool(answer.context)


# -- what is asked ---------------------------------------------------------------------------------------------------


def read_labels(folders: Sequence[Path]) -> Iterator[dict[str, Any]]:
    for folder in folders:
        yield from read_lines(folder / "dream_real" / "labels.jsonl")


def read_lessons(folders: Sequence[Path], project: str) -> list[str]:
    """The statements of a project that a reader called lessons: they stand in lessons.md too."""
    rows = (row for row in read_labels(folders) if Path(row["corpus"]).name == project)
    return [row["statement"] for row in rows if row["type"] == "lesson" and row["durability"] > 1]


def read_statements(folders: Sequence[Path]) -> dict[str, dict[str, dict[str, str]]]:
    """By project and topic, the statements by id."""
    statements: dict[str, dict[str, str]] = defaultdict(dict)
    for row in read_labels(folders):
        if row["durability"] > 1:
            statements[Path(row["corpus"]).name][row["id"]] = row["statement"]
    found: dict[str, dict[str, dict[str, str]]] = {project: {} for project in statements}
    for topic in table(TOPICS):
        texts = statements.get(topic["project"], {})
        if names := [name for name in topic["statements"].split() if name in texts]:
            found[topic["project"]][topic["topic"]] = {name: texts[name] for name in names}
    for project, texts in statements.items():
        grouped = {name for topic in found[project].values() for name in topic}
        if left := {name: text for name, text in texts.items() if name not in grouped}:
            found[project][project] = left
    return found


def make_files(topics: Mapping[str, Mapping[str, str]], lessons: Sequence[str], project: str = "") -> dict[str, str]:
    """A file a topic, a line a statement; of a project where one is named."""
    files = {"lessons.md": "# Lessons\n\n" + "".join(f"- {text}\n" for text in lessons)} if lessons else {}
    for title, statements in topics.items():
        lines = "".join(f"- {text}\n" for text in statements.values())
        head = f"---\nproject: {project}\n---\n\n" if project else ""
        place = f"{project}/" if project else ""
        files[f"topics/{place}{title.lower().replace(' ', '-')}.md"] = f"{head}# {title}\n\n{lines}"
    return files


def read_prompts(folders: Sequence[Path], project: str) -> Iterator[Prompt]:
    """The prompts written for a project, and those that a person typed in its sessions, with labels where there are."""
    for row in table(PROMPTS):
        if row["project"] == project:
            yield Prompt(project, row["prompt"], wanted=frozenset(row["wanted"].split()))
    labelled = {row["entry"]: frozenset(row["wanted"].split()) for row in table(LABELS)}
    for folder in folders:
        if project in (projects := find_projects(folder)):
            for text, session, entry in read_typed(projects[project].parent, project):
                if len(text.split()) >= LEAST_WORDS and not text.startswith(("/", "!", "#", "<")):
                    yield Prompt(project, text, session, labelled.get(entry))


def read_typed(base: Path, project: str) -> Iterator[tuple[str, str, str]]:
    """What a person typed in a project's sessions, with the file and the entry."""
    rows = [row for row in read_lines(base / "human_prompts.jsonl") if row["file"].startswith(f"{project}/")]
    for file in sorted({row["file"] for row in rows}):
        records = unpack(on_disk(base / file)).decode("utf-8").splitlines()
        for row in rows:
            if row["file"] == file and (text := read_text(json.loads(records[row["line"] - 1])).strip()):
                yield text, file, row["uuid"]


def read_text(record: Mapping[str, Any]) -> str:
    """What a record of a transcript says; empty where it is no message."""
    content = (record.get("message") or {}).get("content", "")
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", "")) for part in content if part.get("type") == "text")


def read_calls(folders: Sequence[Path], project: str) -> Iterator[HookCall]:
    """Tool calls of a project and results that failed, some of each, as the client tells its hooks of them."""
    before: list[HookCall] = []
    after: list[HookCall] = []
    places = [find_projects(folder).get(project) for folder in folders]
    for file in sorted(file for place in places if place for file in place.rglob("*.jsonl*")):
        for line in unpack(file).decode("utf-8", "replace").splitlines():
            for part in read_parts(line):
                if part.get("type") == "tool_use":
                    payload = {"tool_name": part.get("name"), "tool_input": part.get("input")}
                    before.append(parse_call("PreToolUse", payload))
                elif part.get("type") == "tool_result" and part.get("is_error"):
                    payload = {"error": str(part.get("content", ""))}
                    after.append(parse_call("PostToolUseFailure", payload))
    dice = random.Random(23)  # noqa: S311  a sample, not secrecy
    for found in (before, after):
        yield from dice.sample(found, min(CALLS_EACH, len(found)))


def read_parts(line: str) -> list[dict[str, Any]]:
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


def compute_mean(values: Sequence[float]) -> float | None:
    return round(fmean(values), 4) if values else None


if __name__ == "__main__":
    main()
