"""What commands there are, by groups, as `oneiros --help` lists them.

A command costs what it uses: its module is imported when it is meant, here alone. Each of the functions
adds the commands of one module to an application that holds nothing else.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import typer

if TYPE_CHECKING:
    from oneiros.environment import Environment


class Row(NamedTuple):
    """One command. `sentence` is the first of its help."""

    name: str
    sentence: str
    add_to: Callable[[typer.Typer], None]


def this_environment() -> "Environment":
    """What commands work on where nothing else is given."""
    from oneiros.environment import Environment

    return Environment.of_process()


def _asking(app: typer.Typer) -> None:
    from oneiros.cli import searching

    searching.add_commands(app)


def _reading(app: typer.Typer) -> None:
    from oneiros.cli import reading

    reading.add_commands(app)


def _setting_up(app: typer.Typer) -> None:
    from oneiros.cli import settling

    settling.add_commands(app)


def _client(app: typer.Typer) -> None:
    from oneiros.cli import claude

    claude.add_commands(app)


def _uninstalling(app: typer.Typer) -> None:
    from oneiros.cli import uninstall

    uninstall.add_commands(app)


def _taking_in(app: typer.Typer) -> None:
    from oneiros.cli import intake

    intake.add_commands(app)


def _deciding(app: typer.Typer) -> None:
    from oneiros.cli import dreaming

    dreaming.add_commands(app)


def _status(app: typer.Typer) -> None:
    from oneiros.cli import status

    status.add_commands(app)


def _keeping(app: typer.Typer) -> None:
    from oneiros.cli import keeping

    keeping.add_commands(app)


def _serving(app: typer.Typer) -> None:
    from oneiros.cli import serving

    serving.add_commands(app)


def _trainer(app: typer.Typer) -> None:
    from oneiros.cli import trainer

    trainer.add_commands(app)


GROUPS = {
    "Ask and read": (
        Row("recall", "Find by meaning and words together: ask this first.", _asking),
        Row("search", "Find by meaning alone, whatever words are used.", _asking),
        Row("exact", "Find words as written: names, paths, errors, numbers.", _asking),
        Row("read", "Print a topic or session, or lines of it.", _reading),
        Row("topics", "List the approved topics.", _reading),
    ),
    "Set up": (
        Row("init", "Make a memory, settle its model, and index what is there.", _setting_up),
        Row("trust", "Let a memory inside a repository take effect, or no longer.", _setting_up),
        Row("config", "Show or change a setting: yours, and the memory's own few.", _setting_up),
        Row("setup", "Let Claude Code load MEMORY.md, and the shell complete.", _client),
        Row("uninstall", "Remove what lies outside of your memories, which stay.", _uninstalling),
    ),
    "Take conversations in and out": (
        Row("ingest", "Take conversations in: archive, compress and index them.", _taking_in),
        Row("drill", "Read a session at one of four depths; each names the next.", _taking_in),
        Row("archive", "The archive of everything that was said.", _taking_in),
        Row("redact", "Show a text as it would be kept, its secrets masked.", _taking_in),
        Row("forget", "Remove a session from every file and index.", _taking_in),
    ),
    "Decide what is known": (
        Row("dream", "Find what sessions said that topics should know; propose it.", _deciding),
        Row("review", "Decide about proposed changes, one at a time, as in `git add -p`.", _deciding),
        Row("report", "Show what to look at this week, and write it to reports/.", _deciding),
        Row("export", "Write the approved statements for training.", _deciding),
    ),
    "Keep it in order": (
        Row("status", "Tell what the memory holds and how its indices stand.", _status),
        Row("reindex", "Bring the indices level with the disk.", _keeping),
        Row("validate", "Check the memory's files against the schema and the limits.", _keeping),
        Row("doctor", "Prove by doing that everything works, or name the repair.", _keeping),
        Row("queries", "Show what was asked, newest first.", _keeping),
        Row("model", "Show the embedding model and its progress, or change it.", _keeping),
    ),
    "Serve it": (
        Row("mcp", "Serve the memory to an MCP client over stdin and stdout.", _serving),
        Row("serve", "Start the daemon of the memory, unless it runs.", _serving),
        Row("stop", "End the daemon once what is under way is answered.", _serving),
        Row("episode", "Take a note in: it can be found, it never decides.", _serving),
        Row("trainer", "Watch the trainers that serve a model of this memory.", _trainer),
    ),
}
ROWS = {row.name: row for rows in GROUPS.values() for row in rows}
