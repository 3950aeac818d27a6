"""What recall shows of the decisions of sde-bench: chats in which one was made, amended or turned down, among decoys.

    git clone https://github.com/vectorize-io/sde-bench
    python -m benchmarks.sde sde-bench --json FILE [--recorded benchmarks/readings/sde.jsonl.xz]

Its chats become transcripts of one project, a day apart in an order of chance, an amendment behind what it amends; no
commit is taken in. Each task is asked by its report and by a short question of `sde_tasks.tsv`, which has the decisive
words of each decision too. `decisive`: the share of these that the first 1, 3 and 10 passages hold, and the answer as
Claude gets it. `old first`: of the amended decisions, those whose old rule stands before the amended one in that
answer; `unmarked`: those where it is shown and nothing says what replaced it. `without no`: of the proposals that a
person turned down and that are shown there, those shown without the no. `promoted`: what dream offers as statements of
topics: the decisive words of each decision in those that rest on its last chat, the decoys of which any is offered, and
the amended decisions whose old rule is offered still. Every second task, by the hashes of their names, is held back
while anything is chosen.
"""

import argparse
import csv
import datetime as dt
import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.amended import memory_of_transcripts, plain, write_one
from benchmarks.answers import LabelledQuestion, Shown, ask_fts5, ask_recall, ask_rrf
from benchmarks.in_hands import ask_recall as ask_server
from benchmarks.machine import stamp_run
from benchmarks.metrics import confidence
from benchmarks.reading import read_project
from benchmarks.recorded import replay
from dream.records import Candidate
from memory_server.memory import Memory

TASKS = Path(__file__).parent / "sde_tasks.tsv"
FIRST_DAY = dt.datetime(2025, 12, 1, 9, tzinfo=dt.UTC)
AMENDMENT = "-amended"
KINDS = ("report", "question")
Chat = tuple[tuple[str, str], ...]  # who and what
Groups = Sequence[Sequence[str]]  # of each group one word or phrase is enough


@dataclass(frozen=True, slots=True)
class Task:
    """A decision, how it is asked for, and the chats in which it was made."""

    name: str
    questions: Mapping[str, str]  # by kind
    decisive: Groups
    proposal: str  # that the person turned down; empty where none was
    no: str  # how they did
    old: Sequence[str]  # ways in which the rule that was amended is put
    chats: Sequence[Chat]  # the earliest first


def main() -> None:
    """Reads the command line, asks everything and prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, help="of sde-bench")
    parser.add_argument("--recorded", type=Path, help="readings by a recorded model in the place of rules")
    parser.add_argument("--json", type=Path, help="figures to FILE")
    options = parser.parse_args()
    client = replay(options.recorded, is_partial=True) if options.recorded else None
    tasks = read_tasks(options.checkout)
    with tempfile.TemporaryDirectory(prefix="oneiros-sde-") as folder:
        sessions = write_chats(Path(folder) / "live", tasks, read_decoys(options.checkout))
        (Path(folder) / "dream").mkdir()
        offered = read_project(Path(folder) / "live", client, Path(folder) / "dream").offered
        with memory_of_transcripts(Path(folder), client=client) as memory:
            found = {**stamp_run(), **measure(memory, tasks), "promoted": count_promoted(tasks, sessions, offered)}
    print_tables(found)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def read_tasks(checkout: Path) -> list[Task]:
    """The tasks of TASKS, with their reports and chats out of a checkout."""
    with TASKS.open(encoding="utf-8") as file:
        return [_task(checkout, row) for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]


def _task(checkout: Path, row: Mapping[str, str]) -> Task:
    task = json.loads((checkout / f"boltons-{row['task']}" / "tasks" / "main" / "task.json").read_text("utf-8"))
    chats = task["conversations"] if row["task"].endswith(AMENDMENT) else [task["conversations"]]
    return Task(
        row["task"],
        {"report": task["bug_report"], "question": row["question"]},
        [group.split("|") for group in row["decisive"].split(" & ")],
        row["proposal"],
        row["no"],
        [old for old in row["old"].split("|") if old],
        [tuple((turn["role"], turn["text"]) for turn in chat) for chat in chats],
    )


def read_decoys(checkout: Path) -> list[Chat]:
    """The chats in which nothing was decided that a task asks for."""
    chats = json.loads((checkout / "gen" / "decoy_conversations.json").read_text("utf-8"))
    return [tuple((turn["role"], turn["text"]) for turn in chat["turns"]) for chat in chats]


def write_chats(folder: Path, tasks: Sequence[Task], decoys: Sequence[Chat]) -> dict[Chat, str]:
    """All chats as transcripts, decoys among them; first those that are amended. Returns the session of each."""
    first = [task.chats[0] for task in tasks if len(task.chats) > 1]
    others = [*(task.chats[-1] for task in tasks), *decoys]
    mixed = sorted(others, key=lambda chat: sha256(repr([*chat]).encode()).digest())
    return {
        chat: write_one(folder, number, FIRST_DAY + dt.timedelta(hours=12 * number), chat, "boltons")
        for number, chat in enumerate([*first, *mixed])
    }


def measure(memory: Memory, tasks: Sequence[Task]) -> dict[str, Any]:
    """All figures, by kind of question and by system, of all tasks and of those held back."""
    found: dict[str, Any] = {}
    by_hash = sorted(tasks, key=lambda task: sha256(task.name.encode()).digest())
    held_back = by_hash[1::2]
    for kind in KINDS:
        questions = [LabelledQuestion(task.name, "boltons", task.questions[kind], "", (), "") for task in tasks]
        texts = ask_server(memory, questions)  # type: ignore[arg-type]  # it reads their texts alone
        runs = {
            "recall": ask_recall(memory, questions),
            "rrf": ask_rrf(memory, questions),
            "fts5": ask_fts5(memory, questions),
        }
        for halves in ("all", "held back"):
            places = [at for at, task in enumerate(tasks) if halves == "all" or task in held_back]
            own, answers = [tasks[at] for at in places], [texts[at] for at in places]
            rows = {name: count_passages(own, [run[at] for at in places]) for name, run in runs.items()}
            found[f"{kind}, {halves}"] = {**rows, "answer": count_answers(own, answers)}
    return found


def count_passages(tasks: Sequence[Task], run: Sequence[Shown]) -> dict[str, Any]:
    """The share of decisive words in the first passages, with its interval over tasks."""
    figures: dict[str, Any] = {}
    for most in (1, 3, 10):
        shares = [
            share_held(task.decisive, "\n".join(shown.passages[:most])) for task, shown in zip(tasks, run, strict=True)
        ]
        figures[f"decisive in {most}"] = [fmean(shares), *confidence(shares)]
    return figures


def count_answers(tasks: Sequence[Task], texts: Sequence[str]) -> dict[str, Any]:
    """The same of whole answers, and what they show of old rules and of what was turned down."""
    shares = [share_held(task.decisive, text) for task, text in zip(tasks, texts, strict=True)]
    amended = [(task, text) for task, text in zip(tasks, texts, strict=True) if task.old]
    refused = [
        (task, text) for task, text in zip(tasks, texts, strict=True) if task.no and is_shown(task.proposal, text)
    ]
    return {
        "decisive": [fmean(shares), *confidence(shares)],
        "characters": fmean(map(len, texts)),
        "amended": len(amended),
        "old first": sum(shows_old_first(task, text) for task, text in amended),
        "unmarked": sum(shows_old(task, text) and "amended " not in text for task, text in amended),
        "refused shown": len(refused),
        "without no": sum(not is_shown(task.no, text) for task, text in refused),
    }


def count_promoted(
    tasks: Sequence[Task], sessions: Mapping[Chat, str], offered: Sequence[Candidate]
) -> dict[str, dict[str, Any]]:
    """What the person would be asked about: of decisions how much, of decoys and of amended rules how many."""
    texts: dict[str, str] = {}
    for one in offered:
        name = one.quotes[0].session_id
        texts[name] = f"{texts.get(name, '')}\n{one.text}"
    own = {sessions[chat] for task in tasks for chat in task.chats}
    found = [share_held(task.decisive, texts.get(sessions[task.chats[-1]], "")) for task in tasks]
    decoys = [float(name in texts) for name in sessions.values() if name not in own]
    amended = [task for task in tasks if task.old]
    first = [texts.get(sessions[task.chats[0]], "") for task in amended]
    return {
        "decisions": {"decisive": [fmean(found), *confidence(found)], "whole": sum(share == 1 for share in found)},
        "decoys": {"offered": [fmean(decoys), *confidence(decoys)]},
        "amended": {"rules": len(amended), "old offered": sum(map(shows_old, amended, first))},
        "statements": {"offered": len(offered)},
    }


def share_held(decisive: Groups, text: str) -> float:
    """Of the groups, how many have a member that a text holds as whole words."""
    held = plain(text).casefold()
    return fmean(any(_find(word, held) >= 0 for word in group) for group in decisive)


def _find(word: str, plain_text: str) -> int:
    """Where a word or phrase stands in a plain, folded text, its ends no part of a longer word; -1 where nowhere."""
    found = re.search(rf"(?<!\w){re.escape(plain(word).casefold())}(?!\w)", plain_text)
    return found.start() if found else -1


def is_shown(words: str, text: str) -> bool:
    return plain(words).casefold() in plain(text).casefold()


def shows_old(task: Task, text: str) -> bool:
    return any(is_shown(old, text) for old in task.old)


def shows_old_first(task: Task, text: str) -> bool:
    """Whether the old rule is shown, and not all that decides stands before it."""
    held = plain(text).casefold()
    old = min((place for words in task.old if (place := held.find(plain(words).casefold())) >= 0), default=-1)
    return old >= 0 and share_held(task.decisive, held[:old]) < 1


def print_tables(found: Mapping[str, Any]) -> None:
    """A line for each kind of question, half and system."""
    for name, of_kind in found.items():
        if not isinstance(of_kind, dict):
            continue
        print(name)
        for system, figures in of_kind.items():
            shown = ", ".join(f"{what} {_figure(value)}" for what, value in figures.items())
            print(f"  {system}: {shown}")


def _figure(value: Any) -> str:
    return "{:.2f} ({:.2f}-{:.2f})".format(*value) if isinstance(value, list) else f"{value:g}"


if __name__ == "__main__":
    main()
