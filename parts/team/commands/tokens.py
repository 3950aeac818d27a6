"""Commands of an operator: who may ask."""

import datetime as dt
from typing import Annotated

import typer

from parts.team.access.asker import Right
from parts.team.access.quotas import set_quotas
from parts.team.access.tokens import create_token, list_tokens, revoke_token
from parts.team.settings import TeamSettings

Tenant = Annotated[str, typer.Argument(help="name of the tenant")]
DAYS = 90


def add(app: typer.Typer) -> None:
    """Adds these commands to the program."""
    group = typer.Typer(no_args_is_help=True, help="Bearer tokens of people and programs.")
    group.command("create")(create)
    group.command("list")(list_)
    group.command("revoke")(revoke)
    app.add_typer(group, name="token")
    app.command("quota")(quota)


def create(
    context: typer.Context,
    tenant: Tenant,
    person: Annotated[str, typer.Argument(help="whose it is, such as an address of mail")],
    may: Annotated[list[Right] | None, typer.Option(help="what it is for; once for each")] = None,
    days: Annotated[int, typer.Option(help="until it expires")] = DAYS,
) -> None:
    """Make a token and print it, for the only time.

    Example: oneiros-team token create ants ada@example.org --may read --may publish
    """
    typer.echo(create_token(context.obj.owner_dsn, tenant, person, may or [Right.READ], days))
    typer.echo("Hand it over now: only its hash is kept.", err=True)


def list_(context: typer.Context, tenant: Tenant) -> None:
    """Name the tokens of a tenant, the newest first: number, person, rights, until when, last use.

    Example: oneiros-team token list ants
    """
    for token in list_tokens(context.obj.owner_dsn, tenant):
        ends = "until" if token.expires > dt.datetime.now(dt.UTC) else "expired"
        until = f"revoked {token.revoked:%Y-%m-%d}" if token.revoked else f"{ends} {token.expires:%Y-%m-%d}"
        used = f"used {token.last_used:%Y-%m-%d %H:00}" if token.last_used else "never used"
        typer.echo(f"{token.id}\t{token.person}\t{','.join(token.may)}\t{until}\t{used}")


def revoke(context: typer.Context, number: Annotated[int, typer.Argument(help="of the token, from the list")]) -> None:
    """End a token, from its next use on.

    Example: oneiros-team token revoke 7
    """
    typer.echo(f"The token of {revoke_token(context.obj.owner_dsn, number)} is of no use any more.")


def quota(
    context: typer.Context,
    tenant: Tenant,
    questions: Annotated[int | None, typer.Option(min=0, help="a minute, of each of its tokens")] = None,
    passages: Annotated[int | None, typer.Option(min=0, help="that it may hold")] = None,
) -> None:
    """Give a tenant numbers of its own; what is left out is as the settings say.

    Example: oneiros-team quota ants --questions 600
    """
    set_quotas(context.obj.owner_dsn, tenant, questions, passages)
    settings: TeamSettings = context.obj
    usual = (settings.questions_a_minute, settings.passages)
    limits = [
        f"{most} (of the settings)" if own is None else own
        for own, most in zip((questions, passages), usual, strict=True)
    ]
    typer.echo(f"{tenant}: {limits[0]} questions a minute of each token, {limits[1]} passages.")
