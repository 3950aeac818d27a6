"""`oneiros-team`: what an operator of a team's memory types."""

import sys
from pathlib import Path
from typing import Annotated

import psycopg
import typer

from memory_server.errors import NeedsRepair, OneirosError
from parts.team.commands import operations, serve, tenants, tokens
from parts.team.errors import first_line
from parts.team.settings import read_settings

app = typer.Typer(name="oneiros-team", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
GROUPS = (tenants, tokens, operations, serve)  # of commands, in the order of the help
for group in GROUPS:
    group.add(app)


@app.callback()
def load_settings(
    context: typer.Context,
    settings: Annotated[
        Path | None, typer.Option(envvar="ONEIROS_TEAM_SETTINGS", help="TOML file; see docs/team.md")
    ] = None,
) -> None:
    """A team's memory on PostgreSQL: tenants, tokens, the server, and what keeps it level with git."""
    context.obj = read_settings(settings)


def run() -> None:
    """The program. A foreseen failure is one sentence and an exit code."""
    try:
        app()
    except OneirosError as error:
        typer.echo(str(error), err=True)
        sys.exit(error.exit_code)
    except psycopg.Error as error:  # of the owner's connection, which each command makes for itself
        does = "answer" if isinstance(error, psycopg.OperationalError) else "do that"
        hint = "Is `owner_dsn` right, and did `oneiros-team upgrade` run?"
        typer.echo(f"The database does not {does}: {first_line(error)}. {hint}", err=True)
        sys.exit(NeedsRepair.exit_code)
