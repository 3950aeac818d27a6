"""Tenants, by the role that owns the tables: made, listed, and given a graph of their own when they have grown.

By the application's role: how much one holds and may hold.
"""

from dataclasses import dataclass

import psycopg
from psycopg import sql

from memory_server.errors import UsageError
from parts.team.errors import NotFound, TeamError

SHARED_UP_TO = 20_000  # passages of a tenant whose vectors are scanned: exact, and as quick as a graph
GRAPH_KB = 768 * 1024  # of memory while a graph is made, 1.5 a passage; the server's own setting where it is more
LARGE = 100_000  # passages of a graph that is made with more care
GRAPH_CARE, LARGE_CARE = 64, 128  # among so many a passage gets its neighbours: too few, and some are not found


class NameTaken(TeamError):
    """A tenant has that name already."""

    status = 409


@dataclass(frozen=True, slots=True)
class Tenant:
    """A team's memory."""

    id: int
    name: str
    commit: str
    is_apart: bool


def create_tenant(owner_dsn: str, name: str) -> Tenant:
    """Makes an empty memory. Raises NameTaken, UsageError for a name that no list can show."""
    name = check_name(name)
    try:
        with psycopg.connect(owner_dsn) as connection:
            row = connection.execute("insert into tenant(name) values(%s) returning id", (name,)).fetchone()
    except psycopg.errors.UniqueViolation as error:
        raise NameTaken(f"there is a tenant {name!r}", remedy="Choose another name") from error
    assert row is not None
    return Tenant(row[0], name, "", False)


def check_name(name: str) -> str:
    """A name of a tenant or a person without what surrounds it. Raises UsageError where no list can show it."""
    if not name.isprintable() or not name.strip():
        raise UsageError(f"{name!r} is no name", remedy="Give one of letters that can be seen")
    return name.strip()


def tenants(owner_dsn: str) -> list[Tenant]:
    """All tenants by name."""
    with psycopg.connect(owner_dsn) as connection:
        return [
            Tenant(*row) for row in connection.execute("select id, name, git_rev, is_apart from tenant order by name")
        ]


def find_tenant(owner_dsn: str, name: str) -> Tenant:
    """A tenant by its name. Raises NotFound."""
    for tenant in tenants(owner_dsn):
        if tenant.name == name:
            return tenant
    raise NotFound(f"there is no tenant {name!r}", remedy="`oneiros-team tenant list` names them")


def set_apart(owner_dsn: str, tenant: int, *, shared_up_to: int | None = None) -> bool:
    """Gives a tenant that has grown a partition with a graph of its own, in one transaction; whether it did.

    One that has its own keeps it. `shared_up_to`: passages, in the place of SHARED_UP_TO.
    """
    with psycopg.connect(owner_dsn) as connection:
        row = connection.execute(
            "select is_apart, (select count(*) from embedding where embedding.tenant = tenant.id),"
            " to_regclass(%s) is null from tenant where id = %s for update",
            (f"embedding_{tenant}", tenant),
        ).fetchone()
        dimensions = connection.execute(
            "select atttypmod from pg_attribute where attrelid = 'embedding'::regclass and attname = 'vector'"
        ).fetchone()
        least = SHARED_UP_TO if shared_up_to is None else shared_up_to
        if row is None or row[0] or row[1] <= least or dimensions is None:
            return False
        connection.execute(
            "select set_config('maintenance_work_mem', %s, true) from pg_settings"
            " where name = 'maintenance_work_mem' and setting::bigint < %s",
            (f"{GRAPH_KB}kB", GRAPH_KB),
        )
        moving = (
            "create table {own} (like embedding including all)",
            "insert into {own} select * from embedding_shared where tenant = {number}",
            "delete from embedding_shared where tenant = {number}",
            "create index on {own} (tenant, source)",
            "alter table {own} enable row level security",
            "alter table {own} force row level security",
            "alter table embedding attach partition {own} for values in ({number})",
        )
        named = {
            "own": sql.Identifier(f"embedding_{tenant}"),
            "number": sql.Literal(tenant),
            "size": sql.SQL(str(int(dimensions[0]))),
            "graph": sql.Identifier(name_graph(tenant)),
            "care": sql.SQL(f"ef_construction = {LARGE_CARE if row[1] > LARGE else GRAPH_CARE}"),
        }
        for statement in (
            *(moving if row[2] else ()),
            "create index {graph} on {own} using hnsw ((vector::halfvec({size})) halfvec_ip_ops) with ({care})",
            "update tenant set is_apart = true, generation = generation + 1 where id = {number}",
            "analyze {own}",
        ):
            connection.execute(sql.SQL(statement).format(**named))
    return True


def drop_graph(owner_dsn: str, tenant: int) -> None:
    """Drops a tenant's graph, where it has one: to make one of all vectors is ten times quicker than to add each.

    Questions are answered by a scan until `set_apart` makes it again.
    """
    with psycopg.connect(owner_dsn) as connection:
        connection.execute("update tenant set is_apart = false, generation = generation + 1 where id = %s", (tenant,))
        connection.execute(sql.SQL("drop index if exists {}").format(sql.Identifier(name_graph(tenant))))


def name_graph(tenant: int) -> str:
    """The name of the index that is a tenant's graph."""
    return f"embedding_{tenant}_graph"


def room(connection: psycopg.Connection, usual: int) -> tuple[int, int]:
    """How many passages the tenant of a transaction may hold, and holds."""
    row = connection.execute("select coalesce(most_passages, %s), (select count(*) from passage) from tenant", [usual])
    return row.fetchone() or (0, 0)
