"""Commands of an operator: the tables, and tenants."""

from pathlib import Path
from typing import Annotated

import typer

from memory_server.escaping import plural
from memory_server.root.paths import MemoryRoot
from parts.team import operations
from parts.team.migrating import move_in, move_out
from parts.team.settings import TeamSettings
from parts.team.tenants import create_tenant, find_tenant, tenants

Name = Annotated[str, typer.Argument(help="of the tenant")]


def add(app: typer.Typer) -> None:
    """Adds these commands to the program."""
    group = typer.Typer(no_args_is_help=True, help="Teams' memories in this database.")
    group.command("create")(create)
    group.command("list")(list_)
    app.command("upgrade")(upgrade)
    app.command("migrate")(migrate)
    app.add_typer(group, name="tenant")


def upgrade(context: typer.Context) -> None:
    """Bring the tables to what this program needs; questions go on meanwhile."""
    new = operations.upgrade(context.obj)
    typer.echo(f"Migrations applied: {', '.join(map(str, new))}." if new else "The tables are up to date.")


def create(context: typer.Context, name: Name) -> None:
    """Make an empty memory.

    Example: oneiros-team tenant create ants
    """
    tenant = create_tenant(context.obj.owner_dsn, name)
    typer.echo(f"Tenant {tenant.name} is number {tenant.id}.")


def list_(context: typer.Context) -> None:
    """Name all memories, with the commit that each index stands at."""
    for tenant in tenants(context.obj.owner_dsn):
        typer.echo(f"{tenant.id}\t{tenant.name}\t{tenant.commit[:12] or '-'}")


def migrate(
    context: typer.Context,
    name: Name,
    folder: Annotated[Path, typer.Argument(help="a memory root")],
    out: Annotated[bool, typer.Option("--out", help="from the tenant into a new folder")] = False,
    sessions: Annotated[bool, typer.Option(help="compressed sessions and episodes too")] = False,
) -> None:
    """Move a memory root into an empty tenant, or out again; texts, counts and hashes are compared afterwards.

    Example: oneiros-team migrate ants ~/notes/memory
    """
    settings: TeamSettings = context.obj
    tenant = find_tenant(settings.owner_dsn, name).id
    with operations.open_indexer(settings) as indexer:
        if out:
            moved = move_out(indexer, tenant, folder)
        else:
            root = MemoryRoot(folder.resolve(), settings.folder / "state")
            moved = move_in(indexer, tenant, root, sessions=sessions)
    typer.echo(f"{plural(moved.files, 'file')} moved and compared, at commit {moved.commit[:12]}.")
