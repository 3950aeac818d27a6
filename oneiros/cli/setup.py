"""What lies outside of memories: `setup` writes it into files of Claude Code and the shell, `uninstall` removes it."""

from collections.abc import Iterator
from textwrap import indent
from typing import Annotated

import typer

from memory_server.root.places import require_memory
from oneiros.claude.plugin import require_client_program
from oneiros.claude.setup import Setup
from oneiros.cli.terminal.completion import completion_lines, find_shell, startup_file
from oneiros.cli.terminal.output import AsJson, Yes, confirm, data, data_json, talk
from oneiros.environment import Environment
from oneiros.uninstall import OwnPlace, Removal, plan_removal, remove


def add_commands(app: typer.Typer) -> None:
    """Adds the commands of this group."""
    app.command(epilog="\b\nExample: oneiros setup --auto-dream-off")(setup)
    app.command(epilog="\b\nExample: oneiros uninstall --dry-run")(uninstall)


def setup(
    context: typer.Context,
    project: Annotated[bool, typer.Option("--project", help="write to this folder's CLAUDE.md, not to yours")] = False,
    auto_dream_off: Annotated[
        bool, typer.Option("--auto-dream-off", help="switch Claude's own auto-dream off")
    ] = False,
    dream_skill: Annotated[bool, typer.Option("--dream-skill", help="add /dream, which points here")] = False,
    completion: Annotated[
        bool, typer.Option("--completion", help="complete commands on the Tab key of your shell; only that")
    ] = False,
    plugin: Annotated[
        bool, typer.Option("--plugin", help="have Claude Code install the plugin that came with this; only that")
    ] = False,
    client: Annotated[
        str, typer.Option(help="give this memory to another client: codex, gemini, vscode; only that")
    ] = "",
    undo: Annotated[bool, typer.Option("--undo", help="take back what setup has written")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="only show what would be written")] = False,
    yes: Yes = False,
) -> None:
    """Let Claude Code load MEMORY.md, and the shell complete.

    It writes the rule of precedence, an import of MEMORY.md, and rules by which Claude Code writes nothing of yours;
    with --plugin it has Claude Code install the plugin instead, with --completion it writes what bash, zsh or fish
    reads to complete commands, with --client an entry into the servers of that client, and the rule of precedence into
    its instructions. It shows what it does, and asks before.
    """
    environment: Environment = context.obj
    plan = Setup.of(environment, environment.working_folder / "CLAUDE.md" if project else None)
    if undo:
        changes = list(plan.undoing())
    elif plugin:
        changes = list(plan.plugin())
    elif client:
        changes = list(plan.client(client))
    elif completion:
        shell = find_shell(environment.variables)
        file = startup_file(shell, environment.variables, environment.home)
        changes = list(plan.completion(file, completion_lines(shell)))
    else:
        require_memory(environment.choice.root)
        changes = list(plan.changes(auto_dream_off=auto_dream_off, with_skill=dream_skill))
    for change in changes:
        data(change.what)
    if not changes:
        talk("Nothing to do.")
    elif not dry_run:
        if plugin and not undo:
            require_client_program(environment.variables)
        confirm("Write this?", yes=yes)
        for change in changes:
            change.do()
        talk("Undone." if undo else "Written. `oneiros setup --undo` takes it back.")
    if undo and not dry_run:
        plan.forget()


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
