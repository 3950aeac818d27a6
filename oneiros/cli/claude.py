"""`setup`: lets Claude Code load this memory and the shell complete commands, and takes that back."""

import sys
from typing import Annotated

import typer

from memory_server.errors import UsageError
from memory_server.root.places import require_memory
from oneiros.claude.setup import Change, Setup
from oneiros.cli.output import data, talk
from oneiros.completion import completion_lines, shell_of, startup_file
from oneiros.environment import Environment


def add_commands(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="\b\nExample: oneiros setup --auto-dream-off")(setup)


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
    undo: Annotated[bool, typer.Option("--undo", help="take back what setup has written")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="only show what would be written")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="do not ask")] = False,
) -> None:
    """Let Claude Code load MEMORY.md, and the shell complete.

    It writes the rule of precedence and an import of MEMORY.md; with --plugin it has Claude Code install the plugin
    instead, with --completion it writes what bash, zsh or fish reads to complete commands. It shows what it does, and
    asks before.
    """
    environment: Environment = context.obj
    page = environment.working_folder / "CLAUDE.md" if project else environment.home / ".claude" / "CLAUDE.md"
    notes = environment.person_file.with_name("setup.json")
    plan = Setup(environment.home, notes, page, environment.choice.root.index_page, environment.variables)
    if undo:
        changes = list(plan.undoing())
    elif plugin:
        changes = list(plan.plugin())
    elif completion:
        shell = shell_of(environment.variables)
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
        _carry_out(changes, is_agreed=yes)
        talk("Undone." if undo else "Written. `oneiros setup --undo` takes it back.")
    if undo and not dry_run:
        plan.forget()


def _carry_out(changes: list[Change], *, is_agreed: bool) -> None:
    if not is_agreed:
        if not sys.stdin.isatty():
            raise UsageError("nobody can be asked here", remedy="Look at --dry-run, then add --yes")
        typer.confirm("Write this?", abort=True, err=True)
    for change in changes:
        change.do()
