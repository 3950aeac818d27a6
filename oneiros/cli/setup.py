"""`setup`: what is written into files of Claude Code, of other clients and of the shell, which then completes."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from typer._completion_shared import get_completion_script

from memory_server.errors import UsageError
from memory_server.root.places import require_memory
from oneiros.claude.setup import Setup, require_client_program
from oneiros.cli.early import COMPLETE
from oneiros.cli.terminal.output import Yes, confirm, data, talk
from oneiros.environment import Environment

SHELLS = ("bash", "zsh", "fish")
LOAD_ZSH = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }\n"


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


def find_shell(variables: Mapping[str, str]) -> str:
    """The person's shell by its name. Raises UsageError for one that cannot be helped."""
    name = Path(variables.get("SHELL", "")).name
    if name not in SHELLS:
        what = f"completion is made for {', '.join(SHELLS)}, and SHELL names {name or 'none'}"
        raise UsageError(what, remedy="Name one: SHELL=/bin/bash oneiros setup --completion")
    return name


def startup_file(shell: str, variables: Mapping[str, str], home: Path) -> Path:
    """The file that a shell reads by itself."""
    if shell == "fish":
        configured = variables.get("XDG_CONFIG_HOME")
        return (Path(configured) if configured else home / ".config") / "fish" / "completions" / "oneiros.fish"
    return Path(variables.get("ZDOTDIR") or home) / ".zshrc" if shell == "zsh" else home / ".bashrc"


def completion_lines(shell: str) -> str:
    """What the shell is to read there."""
    script = get_completion_script(prog_name="oneiros", complete_var=COMPLETE, shell=shell).strip() + "\n"
    return LOAD_ZSH + script.removeprefix("#compdef oneiros\n").lstrip() if shell == "zsh" else script
