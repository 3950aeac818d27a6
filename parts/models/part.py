"""What models bring: the command that shows, tries, fetches and changes them, and the questions they are tried on."""

import typer

from oneiros.parts import Part, PartCommand


def part() -> Part:
    """Models at a terminal."""
    queries = PartCommand("queries", "Show what was asked, newest first.", "doctor", _add_queries)
    sentence = "Show the embedding model and its progress, or change it."
    return Part("models", commands=(queries, PartCommand("model", sentence, "queries", _add_model)))


def _add_queries(app: typer.Typer) -> None:
    from parts.models.queries import add_commands

    add_commands(app)


def _add_model(app: typer.Typer) -> None:
    from parts.models.command import add_commands

    add_commands(app)
