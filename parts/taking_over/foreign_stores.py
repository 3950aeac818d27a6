"""What other memories keep in a database, as pages of references: context, and never authority.

Read by columns that are looked for, since such schemas change. A folder of Markdown, of MIF, basic-memory or memsearch,
needs no reader of its own: it is read as any other files are.
"""

import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import yaml

from memory_server.errors import UsageError
from memory_server.machine.database import open_foreign


@dataclass(frozen=True, slots=True)
class Store:
    """One table of another memory: which columns say what. A column of facts holds a list in JSON."""

    name: str  # of the memory
    table: str
    project: str
    day: str
    texts: tuple[str, ...]  # the columns of what was said
    facts: str = ""


STORES = (
    Store("claude-mem", "observations", "project", "created_at", ("title", "subtitle", "text", "narrative"), "facts"),
    Store("claude-mem", "session_summaries", "project", "created_at", ("learned", "completed", "next_steps")),
)
UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def read_pages(file: Path) -> dict[str, str]:
    """The pages of a database file. Raises UsageError where it is none."""
    try:
        with closing(open_foreign(file)) as database:
            return make_pages(database, file)
    except sqlite3.Error as error:
        raise UsageError(f"{file} cannot be read ({error})", remedy="Name a database of claude-mem") from error


def make_pages(database: sqlite3.Connection, file: Path) -> dict[str, str]:
    """The pages that stand for a database, by their path below the references; none where it is of no memory known."""
    lines: dict[str, dict[str, None]] = defaultdict(dict)
    names: dict[str, str] = {}
    for store in STORES:
        columns = {str(row[1]) for row in database.execute(f"pragma table_info({store.table})")}
        if not {store.project, store.day} <= columns:
            continue
        wanted_columns = [name for name in (*store.texts, store.facts) if name in columns]
        wanted = ", ".join((store.project, store.day, *wanted_columns))
        for project, day, *values in database.execute(f"select {wanted} from {store.table} order by rowid"):  # noqa: S608  names of ours
            name = f"{store.name}/{UNSAFE.sub('-', str(project or 'unknown'))[:80]}.md"
            names[name] = str(project or "unknown")
            row = dict(zip(wanted_columns, values, strict=True))
            texts = [str(row[column]) for column in store.texts if row.get(column)]
            for text in (*texts, *_facts(row.get(store.facts))):
                lines[name][f"- {str(day)[:10]}: {' '.join(text.split())}"] = None
    return {name: _head(names[name], file) + "\n".join(found) + "\n" for name, found in lines.items()}


def _facts(value: object) -> list[str]:
    try:
        found = json.loads(value) if isinstance(value, str) else []
    except (ValueError, RecursionError):
        return []
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def _head(project: str, file: Path) -> str:
    fields: Mapping[str, str] = {"title": f"claude-mem: {project}", "type": "semantic", "project": project}
    front = yaml.safe_dump({**fields, "source": str(file)}, sort_keys=False, allow_unicode=True)
    return f"---\n{front}---\n\n"
