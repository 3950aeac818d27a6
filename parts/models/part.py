"""What models bring: the command that shows, tries, fetches and changes them."""

import typer

from oneiros.parts import Part, PartCommand


def part() -> Part:
    """Models at a terminal."""
    sentence = "Show the embedding model and its progress, or change it."
    return Part("models", commands=(PartCommand("model", sentence, "queries", _add_commands),))


def _add_commands(app: typer.Typer) -> None:
    from parts.models.command import add_commands

    add_commands(app)
