"""What arranging brings: commands below `topics`."""

import typer

from oneiros.parts import Part


def part() -> Part:
    """Topics renamed, joined and cut."""
    return Part("arranging", subcommands=(("topics", _add_commands),))


def _add_commands(group: typer.Typer) -> None:
    from parts.arranging.command import add_commands

    add_commands(group)
