"""`uninstall`: names every byte outside of the memories, and removes what is oneiros's own."""

import sys
from textwrap import indent
from typing import Annotated

import typer

from memory_server.errors import UsageError
from oneiros.cli.output import AsJson, data, data_json, talk
from oneiros.environment import Environment
from oneiros.uninstall import OwnPlace, Removal, planned_removal, remove


def add_commands(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="\b\nExample: oneiros uninstall --dry-run")(uninstall)


def uninstall(
    context: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="only show what lies where")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="do not ask")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove what lies outside of your memories, which stay.

    It names every file with its bytes, and what it leaves. The program itself goes by the command that it names at the
    end.
    """
    environment: Environment = context.obj
    removal = planned_removal(environment)
    if as_json:
        data_json(_as_json(removal))
    else:
        _show(removal)
    if dry_run:
        return
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError("nobody can be asked here", remedy="Look at --dry-run, then add --yes")
        typer.confirm("Remove this?", abort=True, err=True)
    remove(removal, environment)
    talk(f"Removed. The program itself: {removal.program}")


def _show(removal: Removal) -> None:
    data("Goes")
    for place in removal.goes:
        data(_line(place))
        for file, size in place.files:
            data(f"{size:>16,}  {file}")
    for change in removal.changes:
        data(indent(change.what, "  "))
    if removal.stays:
        data("Stays; others may use it")
        for place in removal.stays:
            data(_line(place))
    data("Your memories stay")
    for place in removal.memories:
        data(_line(place))
    data(f"The program goes by: {removal.program}")


def _line(place: OwnPlace) -> str:
    return f"{place.bytes:>14,}  {place.path}  ({place.what})"


def _as_json(removal: Removal) -> dict[str, object]:
    return {
        "goes": [
            {**_place(place), "files": [{"path": str(file), "bytes": size} for file, size in place.files]}
            for place in removal.goes
        ],
        "changes": [change.what for change in removal.changes],
        "stays": [_place(place) for place in removal.stays],
        "memories": [_place(place) for place in removal.memories],
        "program": removal.program,
    }


def _place(place: OwnPlace) -> dict[str, object]:
    return {"path": str(place.path), "what": place.what, "bytes": place.bytes}
