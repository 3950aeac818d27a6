"""Which folders Claude Code was seen to use beside `~/.claude`: `CLAUDE_CONFIG_DIR` names another one.

A daemon does not inherit the variable, so whatever runs with it takes the folder down in the person's state: commands,
the hook of a session's start, and a daemon that the client starts. A folder inside a repository is not taken down,
since a clone may have brought both it and a setting that names it. This module stands on the standard library alone.
"""

from __future__ import annotations

import os

from oneiros.light.endpoint import states_folder

TYPE_CHECKING = False  # as in typing, whose import is slow
if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE = "CLAUDE_CONFIG_DIR"


def find_named_folder(variables: Mapping[str, str]) -> str:
    """The folder that the variable names, as a whole path; empty where it names none."""
    named = variables.get(VARIABLE, "")
    return os.path.abspath(os.path.expanduser(named)) if named else ""


def read_seen_folders(variables: Mapping[str, str]) -> list[str]:
    """Those taken down, the one that the variable names first where it is one of them; takes that down if it is new."""
    file, named = os.path.join(states_folder(variables), "claude-folders"), find_named_folder(variables)
    try:
        with open(file, encoding="utf-8", errors="surrogateescape", newline="\n") as stream:
            seen = [line for line in stream.read().split("\n") if line.startswith("/")]
    except OSError:
        seen = []
    if not named or named in seen:
        return sorted(seen, key=lambda folder: folder != named)
    if "\n" in named:  # it would be read as several
        return [named, *seen]
    if not os.path.isdir(named) or _is_in_repository(os.path.realpath(named)):
        return seen
    try:
        os.makedirs(os.path.dirname(file), 0o700, exist_ok=True)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        with open(descriptor, "wb") as stream:
            stream.write(f"{named}\n".encode("utf-8", "surrogateescape"))
    except OSError:
        pass  # it is read all the same, as long as the variable names it
    return [named, *seen]


def _is_in_repository(folder: str) -> bool:
    while not os.path.lexists(os.path.join(folder, ".git")):
        folder, below = os.path.dirname(folder), folder
        if folder == below:
            return False
    return True
