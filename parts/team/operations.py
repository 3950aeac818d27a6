"""What an operator does with whole tenants: take one out, remove one, back all up, and rehearse the way back.

A backup is a folder: a bundle of git for each tenant, and a dump of what git does not hold (names, tokens, quotas). The
engine is in neither: it is made again of git, as after any loss. `rehearse` does all of that beside what is in use.
"""

import json
import os
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from memory_server.errors import NeedsRepair, UsageError
from memory_server.machine.files import make_folder, replace_file
from parts.team.engine.database import Database, turn
from parts.team.engine.schema import migrate
from parts.team.errors import Unfit
from parts.team.indexing import TenantIndexer
from parts.team.migrating import seed_vectors
from parts.team.opening import catalogue
from parts.team.outbox import Outbox
from parts.team.repositories import Repositories
from parts.team.settings import TeamSettings
from parts.team.tenants import Tenant, find_tenant, tenants

DUMP = "tenants.dump"
OUTSIDE_GIT = ("tenant", "token")  # tables of which nothing is in git
PROGRAM_SECONDS = 600.0  # of PostgreSQL, over a database
PURGE_SECONDS = 600  # that an indexer may take to end, between two batches of texts
BOUNDLESS = 2**31 - 1  # passages


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """One tenant as it came back from a backup."""

    tenant: str
    commit: str
    passages: int
    faults: tuple[str, ...]  # what is not as it was, or not as git has it


def upgrade(settings: TeamSettings) -> list[int]:
    """Brings the tables to what this program and its model need; the numbers of the migrations that were missing."""
    return migrate(settings.owner_dsn, catalogue(settings).find("").card.dimensions)


@contextmanager
def open_indexer(settings: TeamSettings) -> Iterator[TenantIndexer]:
    """Who indexes a database, with its own connections to it."""
    with closing(Database(settings.dsn, connections=settings.connections)) as database:
        yield TenantIndexer(database, Outbox(database, Repositories(settings.repositories)), settings)


def export(settings: TeamSettings, name: str, folder: Path) -> Path:
    """Writes all that a tenant owns into a folder: its history as a bundle, and who it is; returns the bundle.

    The Markdown in it is what a personal memory reads: `git clone NAME.bundle`. Raises NotFound, Unfit for a tenant
    without a commit.
    """
    tenant = find_tenant(settings.owner_dsn, name)
    repository = Repositories(settings.repositories).find(tenant.id)
    head = repository.newest()
    make_folder(folder)
    bundle = folder / f"{tenant.id}.bundle"
    repository.bundle(bundle)
    note = {"id": tenant.id, "name": name, "head": head, "indexed": tenant.commit}
    replace_file(folder / f"{tenant.id}.json", json.dumps(note, indent=2) + "\n")
    return bundle


def purge(settings: TeamSettings, name: str) -> None:
    """Removes a tenant: tokens and rows in one transaction, then its folders; it can be asked for again after a kill.

    Backups keep what they hold until they are removed. Raises NotFound, Unavailable where an indexer does not end.
    """
    repositories = Repositories(settings.repositories)
    try:
        tenant = find_tenant(settings.owner_dsn, name)
        repositories.retire(tenant.id)  # an indexer that is at it ends
        with turn(settings.owner_dsn, tenant.id, PURGE_SECONDS):
            _remove_rows(settings, tenant.id)
            shutil.rmtree(settings.work(tenant.id), ignore_errors=True)
    finally:
        repositories.remove_retired()


def _remove_rows(settings: TeamSettings, tenant: int) -> None:
    with psycopg.connect(settings.owner_dsn) as connection:
        connection.execute("select from tenant where id = %s for update", (tenant,))  # whoever keeps it is done now
        for table in ("outbox", "posting", "embedding", "passage", "source"):
            connection.execute(sql.SQL("delete from {} where tenant = %s").format(sql.Identifier(table)), (tenant,))
        connection.execute(sql.SQL("drop table if exists {}").format(sql.Identifier(f"embedding_{tenant}")))
        Repositories(settings.repositories).retire(tenant)  # whoever kept the tenant may have made one again
        connection.execute("delete from tenant where id = %s", (tenant,))


def back_up(settings: TeamSettings, folder: Path) -> list[Tenant]:
    """Writes a backup into a new folder; returns the tenants in it. Dump first: git may know more than it, never less.

    Raises Unfit where the folder is there, NeedsRepair where pg_dump fails.
    """
    if folder.exists():
        raise Unfit("there is a folder of that name", where=folder, remedy="Name one that is not there yet")
    make_folder(folder)
    tables = [f"--table={table}" for table in OUTSIDE_GIT]
    # by INSERT: an owner that is no superuser may not COPY into a table with row-level security
    rows = ("--data-only", "--column-inserts", "--enable-row-security")
    try:
        _run(settings, "pg_dump", "--format=custom", *rows, *tables, f"--file={folder / DUMP}")
        found = [one for one in tenants(settings.owner_dsn) if Repositories(settings.repositories).find(one.id).head()]
        for tenant in found:
            export(settings, tenant.name, folder)
    except BaseException:  # half a backup is none
        shutil.rmtree(folder)
        raise
    return found


def restore(settings: TeamSettings, folder: Path) -> None:
    """Fills an empty database and an empty folder with a backup; the next index run makes the engine of it.

    The tables are this program's, and their owner may have another name than where the backup was made. Raises
    UsageError where the backup is not whole, or database or folder are not empty, NeedsRepair where pg_restore or git
    fails.
    """
    needed = (folder / DUMP, *(file.with_suffix(".bundle") for file in folder.glob("*.json")))
    if lacking := [file.name for file in needed if not file.is_file()]:
        raise UsageError(f"the backup has no {lacking[0]}", where=folder, remedy="Name a folder that `backup` made")
    upgrade(settings)
    if tenants(settings.owner_dsn) or any(settings.repositories.glob("*.git")):
        raise UsageError("there are memories here already", remedy="Restore into an empty database and an empty folder")
    with psycopg.connect(settings.owner_dsn) as connection:
        name = connection.info.dbname
    whole = ("--enable-row-security", "--exit-on-error", "--single-transaction", f"--dbname={name}")
    _run(settings, "pg_restore", *whole, str(folder / DUMP))
    with psycopg.connect(settings.owner_dsn) as connection:
        connection.execute(
            "update tenant set git_rev = '', made_by = '', calibration = '', next_source = 1, next_row = 1,"
            " is_apart = false"
        )
    for tenant in tenants(settings.owner_dsn):
        if (bundle := folder / f"{tenant.id}.bundle").exists():
            Repositories(settings.repositories).restore(tenant.id, bundle)


def rehearse(settings: TeamSettings, folder: Path | None = None) -> list[Rehearsed]:
    """Brings a backup back in a database and a folder of its own, indexes it, looks it over, and removes both.

    `folder`: the backup; without it one is made. Vectors of texts that this server has embedded are used again.
    """
    with tempfile.TemporaryDirectory(prefix="oneiros-rehearsal-") as scratch, _make_scratch_database(settings) as names:
        backup = folder or Path(scratch, "backup")
        if folder is None:
            back_up(settings, backup)
        there = replace(settings, folder=Path(scratch), owner_dsn=names[0], dsn=names[1], passages=BOUNDLESS)
        models = settings.folder / "models"
        if models.exists():
            (there.folder / "models").symlink_to(models.resolve())
        restore(there, backup)
        with psycopg.connect(there.owner_dsn) as connection:  # what git holds is to come back, also beyond a quota
            connection.execute("update tenant set most_passages = null")
        with open_indexer(there) as indexer:
            return [_rehearse_tenant(indexer, tenant, backup, settings) for tenant in tenants(there.owner_dsn)]


def _rehearse_tenant(indexer: TenantIndexer, tenant: Tenant, backup: Path, settings: TeamSettings) -> Rehearsed:
    note = backup / f"{tenant.id}.json"
    wanted = json.loads(note.read_text(encoding="utf-8"))["head"] if note.exists() else ""
    seed_vectors(settings.work(tenant.id), indexer.settings.work(tenant.id))
    loaded = indexer.level(tenant.id)
    commit = indexer.outbox.repositories.find(tenant.id).head()
    faults = indexer.differences(tenant.id) if wanted else []
    if commit != wanted:
        faults.append(f"the backup was made at {wanted or 'no commit'}, {commit or 'none'} came back")
    return Rehearsed(tenant.name, commit, loaded.passages if loaded else 0, tuple(faults))


@contextmanager
def _make_scratch_database(settings: TeamSettings) -> Iterator[tuple[str, str]]:
    """An empty database on the same server, as owner and as the application's role; dropped at the end."""
    name = f"oneiros_rehearsal_{time.time_ns()}_{secrets.token_hex(4)}"
    with psycopg.connect(settings.owner_dsn, autocommit=True) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
    try:
        yield make_conninfo(settings.owner_dsn, dbname=name), make_conninfo(settings.dsn, dbname=name)
    finally:
        with psycopg.connect(settings.owner_dsn, autocommit=True) as connection:
            # not by force: an owner may not end connections of the application's role; they are closed by now
            connection.execute(sql.SQL("drop database {}").format(sql.Identifier(name)))


def _run(settings: TeamSettings, program: str, *arguments: str) -> None:
    """Runs a program of PostgreSQL as the owner; where to goes by its variables, since `ps` shows what is typed."""
    found = shutil.which(program, path=settings.programs or None)
    if found is None:
        raise NeedsRepair(f"{program} is not here", remedy="Install PostgreSQL's client programs, or set `programs`")
    options = psycopg.pq.Conninfo.parse(settings.owner_dsn.encode())
    place = {os.fsdecode(one.envvar): os.fsdecode(one.val) for one in options if one.val and one.envvar}
    try:
        environment = {**os.environ, **place}
        subprocess.run(
            [found, "--no-password", *arguments],
            check=True,
            capture_output=True,
            timeout=PROGRAM_SECONDS,
            env=environment,
        )
    except (OSError, subprocess.SubprocessError) as error:
        complaint = (getattr(error, "stderr", None) or b"").decode("utf-8", "replace").strip()
        raise NeedsRepair(f"{program} failed ({complaint or error})", remedy="Mend that, then try again") from error
