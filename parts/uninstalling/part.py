"""What uninstalling brings: what oneiros has written outside of memories goes again."""

import typer

from oneiros.parts import Part, PartCommand


def part() -> Part:
    """A command."""
    sentence = "Remove what lies outside of your memories, which stay."
    return Part("uninstalling", commands=(PartCommand("uninstall", sentence, "setup", _add_commands),))


def _add_commands(app: typer.Typer) -> None:
    from parts.uninstalling.command import add_commands

    add_commands(app)
