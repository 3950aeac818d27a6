"""Completion of `oneiros` on the Tab key: for which shell, in which of the person's files, by which lines."""

from collections.abc import Mapping
from pathlib import Path

from typer._completion_shared import get_completion_script

from memory_server.errors import UsageError

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_ONEIROS_COMPLETE"  # set by those lines; the program then answers with what may follow
LOAD_ZSH = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }\n"


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
    script = get_completion_script(prog_name="oneiros", complete_var=VARIABLE, shell=shell).strip() + "\n"
    return LOAD_ZSH + script.removeprefix("#compdef oneiros\n").lstrip() if shell == "zsh" else script
