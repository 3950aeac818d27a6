"""What trainers bring: the command that watches them."""

import typer

from oneiros.parts import Part, PartCommand


def part() -> Part:
    """Trainers at a terminal."""
    sentence = "Watch the trainers that serve a model of this memory."
    return Part("trainers", commands=(PartCommand("trainer", sentence, "stop", _add_commands),))


def _add_commands(app: typer.Typer) -> None:
    from parts.trainers.command import add_commands

    add_commands(app)
