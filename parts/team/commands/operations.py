"""Commands of an operator: indexing, and what is done with whole tenants."""

import signal
import threading
from pathlib import Path
from typing import Annotated

import typer

from memory_server.errors import OneirosError, UsageError
from memory_server.escaping import plural
from parts.team import operations
from parts.team.commands.tenants import Name
from parts.team.server.logs import configure_logs
from parts.team.settings import TeamSettings
from parts.team.tenants import find_tenant, tenants


def add(app: typer.Typer) -> None:
    """Adds these commands to the program."""
    for command in (index, export, purge, backup, restore, rehearse):
        app.command()(command)


def index(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="a tenant; without it all")] = "",
    follow: Annotated[bool, typer.Option("--follow", help="go on until SIGTERM")] = False,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="every row anew, from git")] = False,
    check: Annotated[bool, typer.Option("--check", help="compare every row with git, and change nothing")] = False,
) -> None:
    """Bring the index level with git.

    Example: oneiros-team index --follow
    """
    settings: TeamSettings = context.obj
    configure_logs()
    with operations.open_indexer(settings) as indexer:
        if follow:
            stop = threading.Event()
            for ending in (signal.SIGTERM, signal.SIGINT):
                signal.signal(ending, lambda *_: stop.set())
            indexer.follow(lambda: [one.id for one in tenants(settings.owner_dsn)], stop)
            return
        faults = []
        for tenant in [find_tenant(settings.owner_dsn, name)] if name else tenants(settings.owner_dsn):
            try:
                if check:
                    found = indexer.differences(tenant.id)
                    faults += [f"{tenant.name}: {one}" for one in found]
                    if not found:
                        typer.echo(f"{tenant.name}: as git has it")
                else:
                    loaded = indexer.level(tenant.id, rebuild=rebuild)
                    typer.echo(f"{tenant.name}: {plural(loaded.passages, 'passage') if loaded else 'level'}")
            except OneirosError as error:  # of one tenant; the others are looked at
                faults.append(f"{tenant.name}: {error}")
    if faults:
        typer.echo("\n".join(faults))
        raise typer.Exit(1)


def export(context: typer.Context, name: Name, folder: Annotated[Path, typer.Argument(help="to write to")]) -> None:
    """Write all that a tenant owns: its Markdown with its history, as a bundle of git.

    Example: oneiros-team export ants /backups/ants
    """
    typer.echo(str(operations.export(context.obj, name, folder)))


def purge(
    context: typer.Context, name: Name, confirm: Annotated[str, typer.Option("--yes", help="the name once more")] = ""
) -> None:
    """Remove a tenant: rows, tokens, repository. Backups keep what they hold.

    Example: oneiros-team purge garden --yes garden
    """
    if confirm != name:
        raise UsageError("this removes a team's memory", remedy=f"Add `--yes {name}` if you mean it")
    operations.purge(context.obj, name)
    typer.echo(f"Tenant {name} is gone.")


def backup(context: typer.Context, folder: Annotated[Path, typer.Argument(help="new, to write to")]) -> None:
    """Write a backup: a bundle of git for each tenant, and a dump of names, tokens and quotas.

    Example: oneiros-team backup /backups/2026-11-23
    """
    typer.echo(f"{plural(len(operations.back_up(context.obj, folder)), 'tenant')} in {folder}.")


def restore(context: typer.Context, folder: Annotated[Path, typer.Argument(help="of the backup")]) -> None:
    """Fill an empty database and an empty folder with a backup; then run `oneiros-team index`."""
    operations.restore(context.obj, folder)
    typer.echo("Restored. Run `oneiros-team index`.")


def rehearse(
    context: typer.Context,
    folder: Annotated[Path | None, typer.Argument(help="of a backup; without it one is made")] = None,
) -> None:
    """Bring a backup back beside what is in use, index it, compare it with git, and remove it again."""
    found = operations.rehearse(context.obj, folder)
    for one in found:
        whole = "; ".join(one.faults) or "whole"
        typer.echo(f"{one.tenant}: {one.commit[:12] or '-'}, {plural(one.passages, 'passage')}, {whole}")
    if any(one.faults for one in found):
        raise typer.Exit(1)
