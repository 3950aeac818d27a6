"""What trainers bring: the command that watches them, routes to them, and a reader of sessions."""

from typing import TYPE_CHECKING, Any

import typer

from oneiros.parts import Part, PartCommand

if TYPE_CHECKING:
    from fastapi import FastAPI

    from crawler.model.client import ModelClient
    from oneiros.environment import Environment


def part() -> Part:
    """Trainers at a terminal, over REST and as a reader."""
    sentence = "Watch the trainers that serve a model of this memory."
    command = PartCommand("trainer", sentence, "stop", _add_commands)
    return Part("trainers", commands=(command,), routes=_add_routes, readers={"trainer": _build_reader})


def _add_commands(app: typer.Typer) -> None:
    from parts.trainers.command import add_commands

    add_commands(app)


def _add_routes(api: "FastAPI", served: Any) -> None:
    from parts.trainers.routes import add_trainer_routes

    add_trainer_routes(api, served)


def _build_reader(environment: "Environment") -> "ModelClient":
    from parts.trainers.reader import build_reader

    return build_reader(environment)
