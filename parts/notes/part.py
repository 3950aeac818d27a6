"""What notes bring: commands that take one in, list them, read and delete one."""

import typer

from oneiros.parts import Part, PartCommand


def part() -> Part:
    """Two commands."""
    return Part(
        "notes",
        commands=(
            PartCommand("episode", "Take a note in: it can be found, it never decides.", "stop", _add_commands),
            PartCommand("episodes", "List the notes, read one, or delete it.", "episode", _add_commands),
        ),
    )


def _add_commands(app: typer.Typer) -> None:
    from parts.notes.command import add_commands

    add_commands(app)
