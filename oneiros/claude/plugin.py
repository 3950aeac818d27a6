"""The plugin for Claude Code, as it comes with this program, and how the client is told of it."""

import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from memory_server.errors import NeedsRepair, UsageError

NAME = "oneiros@oneiros"
PACKAGED = Path(__file__).parents[1] / "marketplace"  # in an installed wheel
CHECKOUT = Path(__file__).parents[2]
SECONDS = 120.0


def marketplace() -> Path:
    """The folder that `claude plugin marketplace add` takes."""
    return PACKAGED if PACKAGED.is_dir() else CHECKOUT


def adding() -> tuple[Sequence[str], ...]:
    """The commands that bring the plugin in. It is told where this program lies, wherever that was installed."""
    folder = f"program_folder={Path(sys.executable).parent}"
    return (
        ("claude", "plugin", "marketplace", "add", str(marketplace())),
        ("claude", "plugin", "install", NAME, "--config", folder),
    )


def taking_out() -> tuple[Sequence[str], ...]:
    """The commands that undo `adding`."""
    return (("claude", "plugin", "uninstall", NAME), ("claude", "plugin", "marketplace", "remove", "oneiros"))


def client_program(variables: Mapping[str, str]) -> str | None:
    """Claude Code as the person's shell finds it; None where it is not installed."""
    return shutil.which("claude", path=variables.get("PATH"))


def require_client_program(variables: Mapping[str, str]) -> str:
    """Claude Code as the person's shell finds it. Raises UsageError where it is not installed."""
    program = client_program(variables)
    if program is None:
        raise UsageError("Claude Code is not on PATH", remedy="Install it, or run the shown commands where it is")
    return program


def run_client(commands: Sequence[Sequence[str]], variables: Mapping[str, str]) -> None:
    """Runs commands of the client. Raises UsageError where there is none, NeedsRepair where one fails."""
    program = require_client_program(variables)
    for _, *arguments in commands:
        command = [program, *arguments]
        done = subprocess.run(
            command, env=dict(variables), capture_output=True, text=True, timeout=SECONDS, check=False
        )
        if done.returncode != 0:
            last_line = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
            what = f"`claude {shlex.join(arguments)}` failed: {''.join(last_line)}"
            raise NeedsRepair(what, remedy="Run it yourself to see more")
