"""Commands of an operator: the tables, and tenants."""

from typing import Annotated

import typer

from team.engine.schema import migrate as migrate_tables
from team.opening import catalogue
from team.settings import TeamSettings
from team.tenants import create_tenant, tenants

Name = Annotated[str, typer.Argument(help="of the tenant")]


def add(app: typer.Typer) -> None:
    """Adds these commands to the program."""
    group = typer.Typer(no_args_is_help=True, help="Teams' memories in this database.")
    group.command("create")(create)
    group.command("list")(list_)
    app.command("upgrade")(upgrade)
    app.add_typer(group, name="tenant")


def upgrade(context: typer.Context) -> None:
    """Bring the tables to what this program needs; questions go on meanwhile."""
    settings: TeamSettings = context.obj
    new = migrate_tables(settings.owner_dsn, catalogue(settings).find("").card.dimensions)
    typer.echo(f"Migrations applied: {', '.join(map(str, new))}." if new else "The tables are up to date.")


def create(context: typer.Context, name: Name) -> None:
    """Make an empty memory."""
    tenant = create_tenant(context.obj.owner_dsn, name)
    typer.echo(f"Tenant {tenant.name} is number {tenant.id}.")


def list_(context: typer.Context) -> None:
    """Name all memories, with the commit that each index stands at."""
    for tenant in tenants(context.obj.owner_dsn):
        typer.echo(f"{tenant.id}\t{tenant.name}\t{tenant.commit[:12] or '-'}")
