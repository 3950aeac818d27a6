"""`setup`: lets Claude Code load this memory, and takes that back."""

import sys
from typing import Annotated

import typer

from memory_server.errors import UsageError
from memory_server.places import require_memory
from oneiros.claude_setup import Change, Setup
from oneiros.cli.output import data, talk
from oneiros.environment import Environment


def add_commands(app: typer.Typer, environment: Environment) -> None:
    """Adds the commands of this group."""

    @app.command(epilog="\b\nExample: oneiros setup --auto-dream-off")
    def setup(
        project: Annotated[
            bool, typer.Option("--project", help="write to this folder's CLAUDE.md, not to yours")
        ] = False,
        auto_dream_off: Annotated[
            bool, typer.Option("--auto-dream-off", help="switch Claude's own auto-dream off")
        ] = False,
        dream_skill: Annotated[bool, typer.Option("--dream-skill", help="add /dream, which points here")] = False,
        undo: Annotated[bool, typer.Option("--undo", help="take back what setup has written")] = False,
        dry_run: Annotated[bool, typer.Option("--dry-run", help="only show what would be written")] = False,
        yes: Annotated[bool, typer.Option("--yes", "-y", help="do not ask")] = False,
    ) -> None:
        """Let Claude Code load MEMORY.md with the rule of precedence; says what it writes, and can undo it."""
        root = environment.choice.root if undo else require_memory(environment.choice.root)
        page = environment.working_folder / "CLAUDE.md" if project else environment.home / ".claude" / "CLAUDE.md"
        notes = environment.person_file.with_name("setup.json")
        plan = Setup(environment.home, notes, page, root.index_page)
        changes = list(plan.undoing() if undo else plan.changes(auto_dream_off=auto_dream_off, with_skill=dream_skill))
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
