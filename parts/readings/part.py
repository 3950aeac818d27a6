"""What readings bring: a command that shows who reads sessions, and has what waits read."""

import typer

from oneiros.parts import Part, PartCommand


def part() -> Part:
    """A command."""
    sentence = "Show who reads your sessions and what waits; have it read."
    return Part("readings", commands=(PartCommand("readings", sentence, "wrong", _add_commands),))


def _add_commands(app: typer.Typer) -> None:
    from parts.readings.command import add_commands

    add_commands(app)
