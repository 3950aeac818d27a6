"""What recall shows of the decisions of sde-bench: chats in which one was made, amended or turned down, among decoys.

    git clone https://github.com/vectorize-io/sde-bench
    python -m benchmarks.sde sde-bench --json FILE [--recorded benchmarks/readings/sde.jsonl.xz]

Its chats become transcripts of one project, a day apart in an order of chance, an amendment behind what it amends; no
commit is taken in. Each task is asked by its report and by a short question of `sde_tasks.tsv`, which has the decisive
words of each decision too. Every second task, by the hashes of their names, is held back while anything is chosen.

decisive      the share of these that the first 1, 3 and 10 passages hold, and the answer as Claude gets it
old first     of the amended decisions, those whose old rule stands before the amended one in that answer; `unmarked`:
              those where it is shown and nothing says what replaced it
without no    of the proposals that a person turned down and that are shown there, those shown without the no
promoted      what dream offers as statements of topics: the decisive words of each decision in those that rest on its
              last chat, the decoys of which any is offered, and the amended decisions whose old rule is offered still
"""

import datetime as dt
import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import compress
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.amended import memory_of_transcripts, plain, write_one
from benchmarks.answers import LabelledQuestion, Shown, ask_baselines, ask_recall
from benchmarks.in_hands import ask_recall as ask_server
from benchmarks.metrics import with_interval
from benchmarks.reading import read_project
from benchmarks.recorded import replay
from benchmarks.runs import build_parser, read_table, write_figures
from dream.records import Candidate
from memory_server.memory import Memory

TASKS = Path(__file__).parent / "sde_tasks.tsv"
FIRST_DAY = dt.datetime(2025, 12, 1, 9, tzinfo=dt.UTC)
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
    parser = build_parser(__doc__)
    parser.add_argument("checkout", type=Path, help="of sde-bench")
    parser.add_argument("--recorded", type=Path, help="readings by a recorded model in the place of rules")
    options = parser.parse_args()
    client = replay(options.recorded, is_partial=True) if options.recorded else None
    tasks = read_tasks(options.checkout)
    with tempfile.TemporaryDirectory(prefix="oneiros-sde-") as folder:
        live, work = Path(folder) / "live", Path(folder) / "dream"
        work.mkdir()
        sessions = write_chats(live, tasks, read_decoys(options.checkout))
        promoted = count_promoted(tasks, sessions, read_project(live, client, work).offered)
        with memory_of_transcripts(Path(folder), client=client) as memory:
            found = {**measure(memory, tasks), "promoted": promoted}
    print_tables(found)
    write_figures(options.json, found)


def read_tasks(checkout: Path) -> list[Task]:
    """The tasks of TASKS, with their reports and chats out of a checkout."""
    return [_read_task(checkout / f"boltons-{row['task']}", row) for row in read_table(TASKS)]


def _read_task(folder: Path, row: Mapping[str, str]) -> Task:
    task = json.loads((folder / "tasks" / "main" / "task.json").read_text("utf-8"))
    chats = task["conversations"] if row["task"].endswith("-amended") else [task["conversations"]]
    questions = {"report": task["bug_report"], "question": row["question"]}
    decisive = [group.split("|") for group in row["decisive"].split(" & ")]
    old = [words for words in row["old"].split("|") if words]
    return Task(row["task"], questions, decisive, row["proposal"], row["no"], old, list(map(_read_chat, chats)))


def read_decoys(checkout: Path) -> list[Chat]:
    """The chats in which nothing was decided that a task asks for."""
    chats = json.loads((checkout / "gen" / "decoy_conversations.json").read_text("utf-8"))
    return [_read_chat(chat["turns"]) for chat in chats]


def _read_chat(turns: Sequence[Mapping[str, str]]) -> Chat:
    return tuple((turn["role"], turn["text"]) for turn in turns)


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
    held_back = sorted(tasks, key=lambda task: sha256(task.name.encode()).digest())[1::2]
    for kind in ("report", "question"):
        questions = [LabelledQuestion(task.name, "boltons", task.questions[kind], "", (), "") for task in tasks]
        texts = ask_server(memory, questions)  # type: ignore[arg-type]  # it reads their texts alone
        runs = {"recall": ask_recall(memory, questions), **ask_baselines(memory, questions)}
        for half in ("all", "held back"):
            chosen = [half == "all" or task in held_back for task in tasks]
            own = list(compress(tasks, chosen))
            rows = {name: count_passages(own, list(compress(run, chosen))) for name, run in runs.items()}
            found[f"{kind}, {half}"] = {**rows, "answer": count_answers(own, list(compress(texts, chosen)))}
    return found


def count_passages(tasks: Sequence[Task], run: Sequence[Shown]) -> dict[str, Any]:
    """The share of decisive words in the first passages."""
    first = {most: ["\n".join(shown.passages[:most]) for shown in run] for most in (1, 3, 10)}
    return {f"decisive in {most}": measure_held(tasks, texts) for most, texts in first.items()}


def count_answers(tasks: Sequence[Task], texts: Sequence[str]) -> dict[str, Any]:
    """The same of whole answers, and what they show of old rules and of what was turned down."""
    pairs = list(zip(tasks, texts, strict=True))
    amended = [(task, text) for task, text in pairs if task.old]
    refused = [(task, text) for task, text in pairs if task.no and is_shown(task.proposal, text)]
    return {
        "decisive": measure_held(tasks, texts),
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
    texts: dict[str, str] = defaultdict(str)
    for one in offered:
        texts[one.quotes[0].session_id] += f"\n{one.text}"
    by_chat = {chat: texts[session] for chat, session in sessions.items()}
    last = [by_chat[task.chats[-1]] for task in tasks]
    own = {chat for task in tasks for chat in task.chats}
    decoys = [float(bool(text)) for chat, text in by_chat.items() if chat not in own]
    amended = [task for task in tasks if task.old]
    first = [by_chat[task.chats[0]] for task in amended]
    whole = sum(share_held(task.decisive, text) == 1 for task, text in zip(tasks, last, strict=True))
    return {
        "decisions": {"decisive": measure_held(tasks, last), "whole": whole},
        "decoys": {"offered": with_interval(decoys)},
        "amended": {"rules": len(amended), "old offered": sum(map(shows_old, amended, first))},
        "statements": {"offered": len(offered)},
    }


def measure_held(tasks: Sequence[Task], texts: Sequence[str]) -> list[float]:
    """The share of its decisive words that the text of each task holds, with its interval over tasks."""
    return with_interval([share_held(task.decisive, text) for task, text in zip(tasks, texts, strict=True)])


def share_held(decisive: Groups, text: str) -> float:
    """Of the groups, how many have a member that a text holds as whole words, its ends no part of a longer word."""
    held = fold(text)
    return fmean(any(re.search(rf"(?<!\w){re.escape(fold(word))}(?!\w)", held) for word in group) for group in decisive)


def is_shown(words: str, text: str) -> bool:
    return fold(words) in fold(text)


def shows_old(task: Task, text: str) -> bool:
    return any(is_shown(old, text) for old in task.old)


def shows_old_first(task: Task, text: str) -> bool:
    """Whether the old rule is shown, and not all that decides stands before it."""
    held = fold(text)
    places = [held.index(fold(old)) for old in task.old if is_shown(old, text)]
    return bool(places) and share_held(task.decisive, held[: min(places)]) < 1


def fold(text: str) -> str:
    return plain(text).casefold()


def print_tables(found: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
    """A line for each kind of question, half and system."""
    for name, systems in found.items():
        print(name)
        for system, figures in systems.items():
            cells = (
                f"{what} " + ("{:.2f} ({:.2f}-{:.2f})".format(*value) if isinstance(value, list) else f"{value:g}")
                for what, value in figures.items()
            )
            print(f"  {system}: {', '.join(cells)}")


if __name__ == "__main__":
    main()
