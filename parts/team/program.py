"""The console script `oneiros-team`, which says what to install where its extra is not."""

import sys


def run() -> None:
    """The program."""
    try:
        from parts.team.cli import run as run_commands  # noqa: PLC0415  what it imports may be missing
    except ModuleNotFoundError as error:
        if str(error.name).startswith(("parts", "memory_server")):
            raise
        sys.stderr.write(f"{error.name} is missing. `pip install 'oneiros[team]'` brings what oneiros-team needs.\n")
        sys.exit(3)
    run_commands()
