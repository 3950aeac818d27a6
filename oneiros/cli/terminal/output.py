"""What commands print: data on stdout, talk on stderr; and the options that say how."""

import datetime as dt
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memory_server.errors import UsageError, nearest_or
from memory_server.escaping import escape_text
from oneiros.cli.terminal.screen import inspect_stream

if TYPE_CHECKING:
    from memory_server.index.build import Progress


def require_known(context: typer.Context, project: str) -> str:
    """The project. Raises UsageError where there is none of that name but one that is nearly called so."""
    root = context.obj.choice.root if project else None
    if root and root.index_page.exists():
        from memory_server.fields import fold  # these are more than most commands cost
        from oneiros.ingest.readings import list_projects

        known = list_projects(root)
        is_known = fold(project) in map(fold, known)
        if not is_known and (remedy := nearest_or("", project, known)):
            raise UsageError(f"there is no project {project!r}", remedy=remedy)
    return project


OfAnyProject = Annotated[str, typer.Option("--project", help="of this project alone", show_default=False)]
OfProject = Annotated[
    str, typer.Option("--project", help="of this project alone", show_default=False, callback=require_known)
]
AsJson = Annotated[bool, typer.Option("--json", help="one JSON object on stdout")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="do not ask")]
NoColor = Annotated[bool, typer.Option("--no-color", help="plain text")]


def talk(text: str = "") -> None:
    """A remark for the person, on stderr; what it repeats of a file or its name cannot steer the terminal."""
    print(inspect_stream(sys.stderr, os.environ).wrap(escape_text(text)), file=sys.stderr)


def data(text: str) -> None:
    """What was asked for, on stdout, as it is."""
    print(text)


def data_json(value: Any) -> None:
    """One JSON object on stdout."""
    print(json.dumps(value, ensure_ascii=not _writes_all(), indent=2))


def data_line(value: Any) -> None:
    """One JSON object on a line of its own, at once: for a stream that somebody reads while it is written."""
    print(json.dumps(value, ensure_ascii=not _writes_all()), flush=True)


def _writes_all() -> bool:
    """Whether stdout takes every character; what it does not take is written out, in JSON in JSON's way."""
    return sys.stdout.encoding.casefold().replace("_", "-") == "utf-8"


def moment_text(text: str) -> str:
    """A moment for a person; empty for none."""
    try:
        return f"{dt.datetime.fromisoformat(text).astimezone():%Y-%m-%d %H:%M}"
    except ValueError:
        return ""


def confirm(question: str, *, yes: bool) -> None:
    """Asks before something is done. Raises UsageError where nobody can answer."""
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("nobody can be asked here, so nothing was changed", remedy="Look at --dry-run, then add --yes")
    typer.confirm(question, default=False, err=True, abort=True)


@contextmanager
def show_progress() -> Iterator[Callable[["Progress"], None]]:
    """A bar on stderr with rate and time left, only on a terminal and only when it takes more than a second."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from oneiros.cli.terminal.progress import Bar

    with Bar() as bar:
        yield bar.show
