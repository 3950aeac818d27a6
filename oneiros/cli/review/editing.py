"""A person's own editor. What they wrote is never lost: it opens again, with what is wrong with it above, until it is
right or they leave it as it is."""

import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from memory_server.errors import OneirosError, UsageError
from memory_server.machine.files import replace_file

GUARDED = re.compile(r"^(?=\\*[>#])", re.MULTILINE)  # lines of a statement that would pass for ours
T = TypeVar("T")


def edit_text(text: str, variables: Mapping[str, str]) -> str:
    """The text after the person's editor has had it. Raises UsageError where the editor fails."""
    editor = shlex.split(variables.get("VISUAL") or variables.get("EDITOR") or "vi")
    with tempfile.TemporaryDirectory(prefix="oneiros-") as folder:
        file = Path(folder, "review.md")
        replace_file(file, text + "\n")
        try:
            subprocess.run([*editor, str(file)], check=True, env=dict(os.environ))
        except (OSError, subprocess.SubprocessError) as error:
            raise UsageError(f"the editor failed ({error})", remedy="Set EDITOR to one that works") from error
        return file.read_text(encoding="utf-8")


def reword_text(text: str, check: Callable[[str], T], variables: Mapping[str, str]) -> tuple[str, T] | None:
    """What the person made of a text, and what `check` makes of that; None where they leave nothing, or give up.

    Raises UsageError where the editor fails.
    """
    offered, wrong = guard_text(text).strip(), ""
    while True:
        above = f"> {wrong}\n\n" if wrong else ""
        written = "\n".join(
            line for line in edit_text(above + offered, variables).split("\n") if line[:1] != ">"
        ).strip()
        if not written or (wrong and written == offered):
            return None
        try:
            return unguard_text(written), check(unguard_text(written))
        except OneirosError as error:
            offered, wrong = written, " ".join(str(error).split())


def guard_text(text: str) -> str:
    """A text in whose lines nothing passes for ours."""
    return GUARDED.sub(r"\\", text)


def unguard_text(text: str) -> str:
    """A text as it was before `guarded`."""
    return re.sub(r"^\\(?=\\*[>#])", "", text, flags=re.MULTILINE)
