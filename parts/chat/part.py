"""What the chat brings: a command, and a view of the page."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from oneiros.parts import Part, PartCommand, View

if TYPE_CHECKING:
    from fastapi import APIRouter

    from oneiros.served import ServedMemory
    from parts.page.rendering import Renderer


def part() -> Part:
    """Talks with the memory."""
    sentence = "Talk with the memory through a model; citations are looked up."
    return Part(
        "chat",
        commands=(PartCommand("chat", sentence, "exact", _add_commands),),
        views=(View("chat", "review", Path(__file__).with_name("templates"), _view_routes),),
    )


def _add_commands(app: typer.Typer) -> None:
    from parts.chat.command import add_commands

    add_commands(app)


def _view_routes(served: "ServedMemory", render: "Renderer") -> "APIRouter":
    from parts.chat.view import chat_routes

    return chat_routes(served, render)
