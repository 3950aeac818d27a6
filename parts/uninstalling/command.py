"""`oneiros uninstall`: what lies outside of memories goes, once a person agrees."""

from collections.abc import Iterator
from textwrap import indent
from typing import Annotated

import typer

from oneiros.cli.terminal.output import AsJson, Yes, confirm, data, data_json, talk
from parts.uninstalling.removal import OwnPlace, Removal, plan_removal, remove


def add_commands(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="\b\nExample: oneiros uninstall --dry-run")(uninstall)


def uninstall(
    context: typer.Context,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="only show what lies where")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Remove what lies outside of your memories, which stay.

    It names every file with its bytes, and what it leaves. The program itself goes by the command that it names at the
    end.
    """
    removal = plan_removal(context.obj)
    if as_json:
        data_json(_removal_json(removal))
    else:
        data("\n".join(_removal_lines(removal)))
    if not dry_run:
        confirm("Remove this?", yes=yes)
        remove(removal, context.obj)
        talk(f"Removed. The program itself: {removal.program}")


def _removal_lines(removal: Removal) -> Iterator[str]:
    yield "Goes"
    for place in removal.goes:
        yield _line(place)
        yield from (f"{size:>16,}  {file}" for file, size in place.files)
    yield from (indent(change.what, "  ") for change in removal.changes)
    if removal.stays:
        yield "Stays; others may use it"
        yield from map(_line, removal.stays)
    yield "Your memories stay"
    yield from map(_line, removal.memories)
    yield f"The program goes by: {removal.program}"


def _line(place: OwnPlace) -> str:
    return f"{place.bytes:>14,}  {place.path}  ({place.what})"


def _removal_json(removal: Removal) -> dict[str, object]:
    def to_json(place: OwnPlace) -> dict[str, object]:
        return {"path": str(place.path), "what": place.what, "bytes": place.bytes}

    return {
        "goes": [
            {**to_json(place), "files": [{"path": str(file), "bytes": size} for file, size in place.files]}
            for place in removal.goes
        ],
        "changes": [change.what for change in removal.changes],
        "stays": list(map(to_json, removal.stays)),
        "memories": list(map(to_json, removal.memories)),
        "program": removal.program,
    }
