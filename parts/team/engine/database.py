"""Connections to the database of a team, each of one tenant and one transaction.

`Database.tenant` is the only way to a tenant's rows. Its transaction names the tenant by a setting that ends with it,
so that a pool or a proxy hands nothing on to the next; the policies of `schema.py` do the rest.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.pq import PGconn, Ping
from psycopg_pool import ConnectionPool, PoolTimeout

from parts.team.engine.schema import MIGRATIONS, ROLE, read_applied
from parts.team.errors import Unavailable, Unfit, first_line

NAME = "oneiros-team"  # by which an operator knows the connections
LEAST_SERVER = 160_000  # PostgreSQL 16
LEAST_VECTOR = (0, 8)  # pgvector 0.8 reads on where a filter took most of what its graph gave
STATEMENT_MS = 20_000
WAIT_SECONDS = 10.0
INDEXES = 1  # class of the advisory locks of who indexes a tenant, or purges it
PASSING = ("08", "25", "40", "53", "57")  # classes of SQLSTATE: connection, transaction, resources, operator
GRAPH_SEARCH = 800  # points of a graph that a question looks at, which asks for 300
SETTINGS = f"set hnsw.iterative_scan = relaxed_order; set hnsw.ef_search = {GRAPH_SEARCH}; set jit = off"


class Database:
    """The database of a team, by the application's role. Safe to share between threads."""

    def __init__(self, dsn: str, *, connections: int = 8):
        """Raises Unavailable, Unfit where server, pgvector, tables or role are not what the promises need."""
        more = {"connect_timeout": int(WAIT_SECONDS), "options": f"-c statement_timeout={STATEMENT_MS}"}
        named = make_conninfo(dsn, application_name=NAME, **more)
        _wait_for_start(named)
        try:
            with psycopg.connect(named) as connection:  # a pool would keep to itself why there is none
                check(connection)
        except psycopg.Error as error:
            raise Unavailable(f"the database does not answer: {first_line(error)}", remedy="Is `dsn` right?") from error
        self.pool = ConnectionPool(named, min_size=1, max_size=connections, open=True, configure=_configure)

    def close(self) -> None:
        self.pool.close()

    @contextmanager
    def tenant(
        self, number: int, level: psycopg.IsolationLevel = psycopg.IsolationLevel.REPEATABLE_READ
    ) -> Iterator[psycopg.Connection]:
        """A transaction that sees the rows of one tenant, by default all of one moment. Raises Unavailable."""
        try:
            with self.pool.connection(timeout=WAIT_SECONDS) as connection:
                connection.isolation_level = level
                with connection.transaction():
                    connection.execute("select set_config('app.tenant', %s, true)", (str(number),))
                    yield connection
        except (PoolTimeout, psycopg.OperationalError) as error:
            state = getattr(error, "sqlstate", None)
            if state and state[:2] not in PASSING:
                raise
            raise Unavailable("the database does not answer", remedy="Ask again in a moment") from error

    @contextmanager
    def untold(self) -> Iterator[psycopg.Connection]:
        """A connection of no tenant, each statement for itself: it sees no row, and may call the functions that
        `schema.py` made for what is asked before a tenant is known. Raises Unavailable.
        """
        try:
            with self.pool.connection(timeout=WAIT_SECONDS) as connection:
                yield connection
        except (PoolTimeout, psycopg.OperationalError) as error:
            raise Unavailable("the database does not answer", remedy="Ask again in a moment") from error


@contextmanager
def turn(dsn: str, tenant: int, seconds: int) -> Iterator[None]:
    """A time in which nobody else indexes or purges a tenant. Raises Unavailable where it does not come.

    It may take hours, so its lock is of no transaction; it goes with its connection, also at a kill.
    """
    with psycopg.connect(dsn, autocommit=True, application_name=NAME) as connection:
        connection.execute(f"set statement_timeout = '{seconds}s'")
        try:
            connection.execute("select pg_advisory_lock(%s, %s)", (INDEXES, tenant))
        except psycopg.errors.QueryCanceled as error:
            raise Unavailable(
                "another process is at work on this memory", remedy="Try again when it is done"
            ) from error
        yield


def check(connection: psycopg.Connection) -> None:
    """Raises Unfit for a server, a pgvector, tables or a role that cannot keep what docs/team.md promises."""
    server = connection.info.server_version
    if server < LEAST_SERVER:
        raise Unfit(f"PostgreSQL {server // 10_000} is too old", remedy="Use PostgreSQL 16 or newer")
    row = connection.execute("select extversion from pg_extension where extname = 'vector'").fetchone()
    if row is None:
        raise Unfit("pgvector is not there", remedy="Run `oneiros-team upgrade`")
    if tuple(map(int, row[0].split(".")[:2])) < LEAST_VECTOR:
        raise Unfit(
            f"pgvector {row[0]} is too old: with a filter it silently finds less than there is",
            remedy="Update it to 0.8 or newer",
        )
    if missing := MIGRATIONS.keys() - read_applied(connection):
        raise Unfit(f"the tables lack migration {min(missing)}", remedy="Run `oneiros-team upgrade`")
    (role, superuser, bypass, owned) = connection.execute(
        "select current_user, rolsuper, rolbypassrls, exists (select from pg_class where relowner = pg_roles.oid"
        " and relkind in ('r', 'p')) from pg_roles where rolname = current_user"
    ).fetchone() or ("", True, True, True)
    if superuser or bypass or owned:
        raise Unfit(
            f"the role {role} can read around the walls between tenants: a superuser, one with BYPASSRLS, or an owner",
            remedy=f"Connect as {ROLE}, which `oneiros-team upgrade` makes",
        )


def _wait_for_start(dsn: str) -> None:
    """Lets a server that is starting do so, for WAIT_SECONDS."""
    end = time.monotonic() + WAIT_SECONDS
    while PGconn.ping(dsn.encode()) != Ping.OK and time.monotonic() < end:
        time.sleep(0.2)


def _configure(connection: psycopg.Connection) -> None:
    connection.autocommit = True
    connection.execute("select '[1]'::vector")  # loads the library, without which its settings are not known
    for setting in SETTINGS.split("; "):
        connection.execute(setting)
