"""What can be counted and listed about a session without understanding it: tools, files, commits, errors, tasks; and
commands in few words, with what made a failed one good.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import msgspec

from crawler.transcripts.classify import filter_objects
from crawler.transcripts.entry import Entry, PartKind
from crawler.transcripts.turns import Role, Turn
from memory_server.language.sentences import without_markup
from memory_server.language.shortening import clip

EDITORS = {"Write": "file_path", "Edit": "file_path", "MultiEdit": "file_path", "NotebookEdit": "notebook_path"}
ASKING_TOOL = "AskUserQuestion"  # whose result is the person's answer
COMMITTED = re.compile(
    r"^\[(?P<branch>[^\s\]]+)(?: \([^)]*\))? (?P<hash>[0-9a-f]{7,40})\] (?P<subject>.+)$", re.MULTILINE
)
NUMBER = re.compile(r"[Tt]ask #(\w+)")
DONE = ("completed", "deleted")
TASK_TOOLS = frozenset({"TaskCreate", "TaskUpdate"})
COMMAND_CHARS = 100
NOT_RUN = re.compile(
    r"The user doesn't want|<tool_use_error>|Sibling tool call"
)  # a call that the person or the client stopped
FOLDER = re.compile(r"^cd [^&;\n]*(?:&&|;)\s*")
FILTERS = re.compile(r"\s*<<.*|\s*2>(?:&1|\s*/dev/null)|\s*\|\s*(?:head|tail|grep|tee|jq)\b[^\n]*")
READING = frozenset(
    "awk cat echo find git grep head ls pwd rg sed sleep tail tree wc which".split()
)  # no way of working
ERROR_LINE = re.compile(
    r"(?:error|exception|fail(?:ed|ure)|cannot|not found|denied|undefined|refused|panic|fatal|✗|×)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit that a session made, as git's own answer names it."""

    hash: str
    subject: str
    entries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Touched:
    """A file that the session wrote or edited, and by which entries."""

    path: str  # relative to the session's folder where it lies below it
    entries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """The countable side of a session."""

    cwd: str = ""
    branch: str = ""
    title: str = ""
    started: datetime | None = None
    ended: datetime | None = None
    turns: dict[str, int] = field(default_factory=dict)
    tools: dict[str, int] = field(default_factory=dict)
    touched: tuple[Touched, ...] = ()
    commits: tuple[Commit, ...] = ()
    chars: int = 0  # of all turns, tool results and arguments included


def gather_facts(turns: Sequence[Turn]) -> SessionFacts:
    """The facts of a session from its turns."""
    times = [turn.time for turn in turns if turn.time]
    cwd = next((turn.cwd for turn in turns if turn.cwd), "")
    branches = Counter(turn.branch for turn in turns if turn.branch)
    titles = [turn.text for turn in turns if turn.kind is PartKind.TITLE]
    return SessionFacts(
        cwd=cwd,
        branch=branches.most_common(1)[0][0] if branches else "",
        title=titles[-1] if titles else "",
        started=min(times, default=None),
        ended=max(times, default=None),
        turns=dict(sorted(Counter(str(turn.role) for turn in turns).items())),
        tools=dict(Counter(turn.tool for turn in turns if turn.tool).most_common()),
        touched=tuple(find_touched_files(turns, cwd)),
        commits=tuple(find_commits(turns)),
        chars=sum(len(turn.text) + len(turn.arguments) for turn in turns),
    )


def count_tokens(entries: Iterable[Entry]) -> dict[str, int]:
    """Tokens as the client counted them. Every entry of a reply repeats the count, so a reply counts once."""
    replies = {entry.message_id: entry for entry in entries if entry.message_id}
    return {
        "input": sum(entry.input_tokens for entry in replies.values()),
        "output": sum(entry.output_tokens for entry in replies.values()),
    }


def find_touched_files(turns: Iterable[Turn], cwd: str) -> list[Touched]:
    """The files that were written or edited without an error, most edited first."""
    by_path: dict[str, list[str]] = {}
    for turn in turns:
        if turn.tool in EDITORS and not turn.is_error and turn.is_answered:
            path = parse_arguments(turn).get(EDITORS[turn.tool])
            if isinstance(path, str):
                by_path.setdefault(relative(path, cwd), []).append(turn.entries[0])
    ranked = sorted(by_path.items(), key=lambda item: (-len(item[1]), item[0]))
    return [Touched(path, tuple(dict.fromkeys(entries))) for path, entries in ranked]


def find_commits(turns: Iterable[Turn]) -> list[Commit]:
    """The commits that git confirmed in a tool's output."""
    found: dict[str, Commit] = {}
    for turn in turns:
        if turn.role is Role.TOOL and "commit" in turn.arguments:
            for match in COMMITTED.finditer(turn.text):
                found.setdefault(match["hash"], Commit(match["hash"], match["subject"].strip(), turn.entries))
    return list(found.values())


def parse_arguments(turn: Turn) -> dict[str, Any]:
    """A tool call's input; empty where there is none."""
    value = msgspec.json.decode(turn.arguments) if turn.arguments else {}
    return value if isinstance(value, dict) else {}


def relative(path: str, cwd: str) -> str:
    return path.removeprefix(cwd.rstrip("/") + "/") if cwd else path


# -- the tasks that an assistant lists while it works ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Task:
    """One task, as the last call that names it leaves it."""

    text: str
    status: str  # pending, in_progress, completed
    agent: str  # the sub-agent whose list it is on; empty for the assistant's own, and for tasks with a number
    entry: str  # of the call that says so

    @property
    def is_open(self) -> bool:
        return self.status not in DONE


def list_tasks(turns: Sequence[Turn]) -> list[Task]:
    """Every task of a session, in the order in which they came up."""
    tasks: dict[tuple[str, str], Task] = {}
    for turn in turns:
        if turn.role is not Role.TOOL or turn.is_error:
            continue
        arguments = parse_arguments(turn)
        if turn.tool == "TaskCreate":
            number = NUMBER.search(turn.text)
            if number and isinstance(subject := arguments.get("subject"), str):
                tasks["#", number[1]] = Task(subject, "pending", "", turn.entries[0])
        elif turn.tool == "TaskUpdate":
            key = "#", str(arguments.get("taskId", ""))
            if key in tasks:
                tasks[key] = _update_task(tasks[key], arguments, turn)
        elif isinstance(arguments.get("todos"), list):
            for key in [key for key, task in tasks.items() if key[0] != "#" and task.agent == turn.agent]:
                tasks[key] = replace(tasks[key], status="completed")
            for item in filter_objects(arguments["todos"]):
                if isinstance(text := item.get("content"), str):
                    status = str(item.get("status", ""))
                    tasks[f"@{turn.agent}", text] = Task(text, status, turn.agent, turn.entries[0])
    return list(tasks.values())


def _update_task(task: Task, arguments: dict[str, Any], turn: Turn) -> Task:
    given = {name: arguments.get(name) for name in ("status", "subject")}
    fields = {name: value for name, value in given.items() if isinstance(value, str) and value}
    return Task(fields.get("subject", task.text), fields.get("status", task.status), task.agent, turn.entries[0])


# -- calls of tools, told in few words ------------------------------------------------------------------------------


def find_other_ways(turns: Sequence[Turn]) -> dict[int, Turn]:
    """Of commands that failed, by their place, the next of the same program, where it is another and succeeded."""
    failed: dict[str, int] = {}
    found: dict[int, Turn] = {}
    for place, turn in enumerate(turns):
        program = find_program(turn)
        if not program or program.split()[0] in READING:
            continue
        before = failed.pop(program, None)
        if turn.is_error and not NOT_RUN.match(turn.text):
            failed[program] = place
        elif before is not None and not turn.is_error and find_command(turn) != find_command(turns[before]):
            found[before] = turn
    return found


def find_fix(turns: Sequence[Turn], place: int) -> Turn | None:
    """What made the failed call at `place` good: the next edit, or the next call of the same tool that succeeds."""
    failed = turns[place]
    for turn in turns[place + 1 : place + 25]:
        if (turn.tool in EDITORS and not turn.is_error) or (turn.tool == failed.tool and not turn.is_error):
            return turn
    return None


def find_command(turn: Turn) -> str:
    """A shell command as one would type it again: its first line, without the folder before and the filters behind."""
    command = parse_arguments(turn).get("command")
    if not isinstance(command, str):
        return ""
    return clip(without_markup(FILTERS.sub("", FOLDER.sub("", command.strip()).partition("\n")[0])), COMMAND_CHARS)


def find_program(turn: Turn) -> str:
    """A program with its sub-command: what a command that failed and the one that worked have in common."""
    return " ".join([word for word in find_command(turn).split() if "=" not in word][:2])


def error_line(text: str) -> str:
    """The line of a failed call's output that says what went wrong."""
    lines = [without_markup(line) for line in text.splitlines() if len(line.strip()) > 8]
    return next((line for line in lines if ERROR_LINE.search(line)), lines[0] if lines else "")
