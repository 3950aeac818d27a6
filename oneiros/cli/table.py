"""The commands of the core, by groups, as `oneiros --help` lists them with those of the parts.

A command costs what it uses: the module that adds it is imported when it is meant, here alone.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import typer

from oneiros.parts import Part, PartCommand, find_index


class Row(NamedTuple):
    """One command. `sentence` is the first of its help."""

    name: str
    sentence: str
    room: str  # the module that adds it


def find_adder(room: str) -> Callable[[typer.Typer], None]:
    """The function by which a module adds its commands to an application."""
    match room:
        case "searching":
            from oneiros.cli.searching import add_commands
        case "reading":
            from oneiros.cli.reading import add_commands
        case "founding":
            from oneiros.cli.founding import add_commands
        case "setup":
            from oneiros.cli.setup import add_commands
        case "ingest":
            from oneiros.cli.ingest import add_commands
        case "dreaming":
            from oneiros.cli.dreaming import add_commands
        case "telling":
            from oneiros.cli.review.telling import add_commands
        case "status":
            from oneiros.cli.status import add_commands
        case "maintenance":
            from oneiros.cli.maintenance import add_commands
        case _:
            from oneiros.cli.serving import add_commands
    return add_commands


GROUPS = {
    "Ask and read": (
        Row("recall", "Find by meaning and words together: ask this first.", "searching"),
        Row("search", "Find by meaning alone, whatever words are used.", "searching"),
        Row("exact", "Find words as written: names, paths, errors, numbers.", "searching"),
        Row("read", "Print a topic or session, or lines of it.", "reading"),
        Row("topics", "List the approved topics; rename, join or cut them.", "reading"),
    ),
    "Set up": (
        Row("init", "Make a memory, choose its model, and say what to do next.", "founding"),
        Row("trust", "Let a memory inside a repository take effect, or no longer.", "founding"),
        Row("config", "Show or change a setting: yours, and the memory's own few.", "founding"),
        Row("mute", "Let hooks point to a topic no longer; recall still finds it.", "founding"),
        Row("setup", "Let Claude Code load MEMORY.md, and the shell complete.", "setup"),
    ),
    "Take conversations in and out": (
        Row("ingest", "Take conversations in: archive, compress and index them.", "ingest"),
        Row("drill", "Read a session at one of four depths; each names the next.", "ingest"),
        Row("redact", "Show a text as it would be kept, its secrets masked.", "ingest"),
        Row("forget", "Remove a session from every file and index.", "ingest"),
    ),
    "Decide what is known": (
        Row("remember", "Say what is true: it is shown, and taken up with your consent.", "telling"),
        Row("wrong", "Put what is right in the place of a line of a topic.", "telling"),
        Row("dream", "Find what sessions said that topics should know; propose it.", "dreaming"),
        Row("review", "Decide about proposed changes, one at a time; ? names the keys.", "dreaming"),
        Row("report", "Show what to look at this week, and write it to reports/.", "dreaming"),
    ),
    "Share it with a team": (),  # of a part
    "Keep it in order": (
        Row("status", "Tell what the memory holds and how its indices stand.", "status"),
        Row("reindex", "Bring the indices level with the disk.", "maintenance"),
        Row("validate", "Check the memory's files against the schema and the limits.", "maintenance"),
        Row("doctor", "Prove by doing that everything works, or name the repair.", "maintenance"),
    ),
    "Serve it": (
        Row("mcp", "Serve the memory to an MCP client over stdin and stdout.", "serving"),
        Row("serve", "Start the daemon of the memory, unless it runs.", "serving"),
        Row("stop", "End the daemon once what is under way is answered.", "serving"),
    ),
}


def group_commands(parts: Iterable[Part]) -> dict[str, list[Row | PartCommand]]:
    """The commands by groups, those of the parts among them."""
    groups: dict[str, list[Row | PartCommand]] = {heading: list(rows) for heading, rows in GROUPS.items()}
    for command in (command for part in parts for command in part.commands):
        behind = (rows for rows in groups.values() if command.after in (row.name for row in rows))
        rows = next(behind, None) or groups.setdefault(command.after, [])
        rows.insert(find_index([row.name for row in rows], command.after), command)
    return {heading: rows for heading, rows in groups.items() if rows}
