"""What models bring: those beside the dense one, the command for all of them, and the questions they are tried on."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from oneiros.parts import Part, PartCommand

if TYPE_CHECKING:
    from memory_server.embedding.catalogue import Catalogue
    from memory_server.further import FurtherModels
    from memory_server.settings import PersonSettings


def part() -> Part:
    """Models at a terminal, and those that answer beside the dense one."""
    queries = PartCommand("queries", "Show what was asked, newest first.", "doctor", _add_queries)
    sentence = "Show the embedding model and its progress, or change it."
    commands = (queries, PartCommand("model", sentence, "queries", _add_model))
    return Part("models", commands=commands, further=_choose_further)


def _choose_further(person: "PersonSettings", catalogue: "Catalogue", derived: Path) -> "FurtherModels":
    from parts.models.further import choose_models

    return choose_models(person, catalogue, derived)


def _add_queries(app: typer.Typer) -> None:
    from parts.models.queries import add_commands

    add_commands(app)


def _add_model(app: typer.Typer) -> None:
    from parts.models.command import add_commands

    add_commands(app)
