"""The tasks that an assistant lists while it works: whole lists of TodoWrite, or TaskCreate and TaskUpdate one by one.

A list of TodoWrite takes the place of the one before by the same agent; the tasks of the others have numbers, which are
one a session and are given in the result. What a list or an update drops is open no longer.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from crawler.facts import parse_arguments
from crawler.transcripts.turns import Role, Turn

NUMBER = re.compile(r"[Tt]ask #(\w+)")
DONE = ("completed", "deleted")
TASK_TOOLS = frozenset({"TaskCreate", "TaskUpdate"})


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


def filter_objects(value: object) -> list[dict[str, Any]]:
    """The objects of a list in a call's arguments, which may have any shape."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
