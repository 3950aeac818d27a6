"""What can be counted and listed about a session without understanding it: tools, files, commits, errors."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from crawler.transcripts.entry import Entry, PartKind
from crawler.transcripts.turns import Role, Turn

EDITORS = {"Write": "file_path", "Edit": "file_path", "MultiEdit": "file_path", "NotebookEdit": "notebook_path"}
ASKING_TOOL = "AskUserQuestion"  # whose result is the person's answer
COMMITTED = re.compile(
    r"^\[(?P<branch>[^\s\]]+)(?: \([^)]*\))? (?P<hash>[0-9a-f]{7,40})\] (?P<subject>.+)$", re.MULTILINE
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
    errors: int = 0
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
        errors=sum(turn.is_error for turn in turns),
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
