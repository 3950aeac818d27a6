"""The command that serves."""

from dataclasses import replace
from importlib.metadata import version
from typing import Annotated

import typer

from parts.team.opening import embedder
from parts.team.server.app import serve as serve_team
from parts.team.server.logs import configure_logs


def add(app: typer.Typer) -> None:
    """Adds the command to the program."""
    app.command("serve")(serve)


def serve(
    context: typer.Context,
    listen: Annotated[str, typer.Option(help="an IP address and a port, in the place of the setting")] = "",
) -> None:
    """Answer questions by REST and MCP until SIGTERM; several of these may stand behind a proxy.

    Example: oneiros-team --settings team.toml serve
    """
    configure_logs()
    settings = replace(context.obj, listen=listen) if listen else context.obj
    serve_team(settings, embedder(settings), version("oneiros"))
