"""What keeping brings: fading, the archive's upkeep, and backups."""

import typer

from oneiros.parts import Part, PartCommand


def part() -> Part:
    """A memory over time."""
    return Part(
        "keeping",
        commands=(
            PartCommand("archive", "The archive of everything that was said.", "drill", _add_archive),
            PartCommand("gc", "Let sessions fade that nobody uses: no file is lost.", "doctor", _add_fading),
            PartCommand("keep", "Let a session or topic never fade, or no longer.", "gc", _add_fading),
            PartCommand("backup", "Write all of the memory to a file, or bring it back.", "keep", _add_backup),
        ),
    )


def _add_archive(app: typer.Typer) -> None:
    from parts.keeping.commands.archive import add_commands

    add_commands(app)


def _add_fading(app: typer.Typer) -> None:
    from parts.keeping.commands.gc import add_commands

    add_commands(app)


def _add_backup(app: typer.Typer) -> None:
    from parts.keeping.commands.backup import add_commands

    add_commands(app)
