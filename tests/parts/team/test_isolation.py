"""What one team cannot see, change or find out of another, by whatever it asks the database."""

import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from memory_server.memory import Memory
from memory_server.search.question import Search, parse_query
from parts.team.engine.database import Database, check
from parts.team.engine.loading import load
from parts.team.engine.schema import LOCK, MIGRATIONS, migrate
from parts.team.errors import NotFound, Unavailable, Unfit
from parts.team.memory import TeamMemory
from parts.team.tenants import create_tenant
from tests.system.house import wait_until

pytestmark = pytest.mark.team

TABLES = ("source", "passage", "posting", "embedding")
NONE = "unrecognized configuration parameter|invalid input syntax"


@pytest.fixture(scope="module")
def other(owner_dsn: str, database: Database, garden: Memory) -> int:
    """A tenant beside the garden, which knows one thing of its own."""
    return create_tenant(owner_dsn, "other").id


@pytest.mark.parametrize("table", TABLES)
def test_rows_of_others_are_not_there(database: Database, garden_tenant: int, other: int, table: str) -> None:
    with database.tenant(garden_tenant) as connection:
        assert connection.execute(f"select count(*) from {table}").fetchone() != (0,)
    with database.tenant(other) as connection:
        assert connection.execute(f"select count(*) from {table}").fetchone() == (0,)
        assert connection.execute(f"select count(*) from {table} where tenant = {garden_tenant}").fetchone() == (0,)


def test_a_tenant_sees_itself_among_the_tenants(database: Database, garden_tenant: int, other: int) -> None:
    with database.tenant(other) as connection:
        assert connection.execute("select id from tenant").fetchall() == [(other,)]
        changed = connection.execute("update tenant set git_rev = 'x' where id = %s", (garden_tenant,))
        assert changed.rowcount == 0


@pytest.mark.parametrize("table", TABLES)
def test_rows_of_others_stay_as_they_are(database: Database, garden_tenant: int, other: int, table: str) -> None:
    with database.tenant(other) as connection:
        assert connection.execute(f"delete from {table} where tenant = %s", (garden_tenant,)).rowcount == 0
        assert connection.execute(f"update {table} set tenant = %s", (other,)).rowcount == 0
    with database.tenant(garden_tenant) as connection:
        assert connection.execute(f"select count(*) from {table}").fetchone() != (0,)


WRITES = {
    "insert": "insert into posting(tenant, block, term, holders, places) values(%(garden)s, 0, 'sx', 1, '')",
    "upsert of a key that is there": "insert into posting(tenant, block, term, holders, places)"
    " select %(garden)s, 0, 'smail', 1, '' on conflict (tenant, block, term) do update set holders = 0",
    "move": "insert into posting(tenant, block, term, holders, places) values(%(other)s, 0, 'sx', 1, '');"
    " update posting set tenant = %(garden)s",
    "vector": "insert into embedding(tenant, id, source, layer, vector, signs) select %(garden)s, 900001, 1, 'topic',"
    " array_fill(0.1::float4, array[384])::vector, ''",
}


@pytest.mark.parametrize("what", WRITES)
def test_nothing_is_written_into_another_tenant(database: Database, garden_tenant: int, other: int, what: str) -> None:
    statement = WRITES[what].replace("%(garden)s", str(garden_tenant)).replace("%(other)s", str(other))
    with pytest.raises(psycopg.errors.InsufficientPrivilege), database.tenant(other) as connection:
        connection.execute(statement)


def test_copy_into_the_tables_is_refused(database: Database, other: int) -> None:
    with (
        pytest.raises(psycopg.errors.FeatureNotSupported),
        database.tenant(other) as connection,
        connection.cursor() as cursor,
        cursor.copy("copy posting from stdin"),
    ):
        pass


def test_a_foreign_key_tells_nothing_of_the_sources_of_others(
    database: Database, garden_tenant: int, other: int
) -> None:
    """The key holds the tenant, so that a number that another has is as unknown as one that nobody has."""
    with database.tenant(garden_tenant) as connection:
        there = connection.execute("select min(id) from source").fetchone()
    texts = []
    for number in (there[0] if there else 1, 987_654):
        with pytest.raises(psycopg.errors.ForeignKeyViolation) as caught, database.tenant(other) as connection:
            connection.execute(
                "insert into passage values(%s, 1, %s, 'x', 1, 1, 1, '{}', '', '', '', 0, 0)", (other, number)
            )
        texts.append(str(caught.value).replace(str(number), "N"))

    assert texts[0] == texts[1]


def test_without_a_tenant_every_table_fails_closed(app_dsn: str) -> None:
    with psycopg.connect(app_dsn, autocommit=True) as connection:
        for table in (*TABLES, "tenant"):
            with pytest.raises(psycopg.errors.Error, match=NONE):
                connection.execute(f"select * from {table}")


def test_the_setting_ends_with_its_transaction(app_dsn: str, garden_tenant: int) -> None:
    opened = Database(app_dsn, connections=1)
    try:
        with opened.tenant(garden_tenant) as connection:
            assert connection.execute("select count(*) from source").fetchone() != (0,)
        with opened.pool.connection() as connection, pytest.raises(psycopg.errors.Error, match=NONE):
            connection.execute("select count(*) from source")
    finally:
        opened.close()


def test_the_role_can_neither_lift_the_walls_nor_make_itself_another(app_dsn: str, garden_tenant: int) -> None:
    with psycopg.connect(app_dsn, autocommit=True) as connection:
        for statement in (
            "alter table source disable row level security",
            "alter table source no force row level security",
            "drop policy own on source",
            "create policy all_of_it on source using (true)",
            "alter role oneiros_app bypassrls",
            "set session authorization postgres",
            "create table stolen(x int)",
            "select pg_read_file('/etc/hostname')",
            "select * from embedding_shared",
        ):
            with pytest.raises(psycopg.errors.Error):
                connection.execute(statement)


@pytest.mark.parametrize("search", Search)
def test_questions_find_nothing_of_others(team: TeamMemory, garden_tenant: int, other: int, search: Search) -> None:
    question = parse_query("mail relay port", search)

    assert team.search(garden_tenant, question).answer.hits
    answer = team.search(other, question)
    assert answer.answer.hits == ()
    assert answer.commit == ""


def test_what_is_missing_and_what_is_anothers_is_the_same_error(
    team: TeamMemory, garden_tenant: int, other: int
) -> None:
    assert team.read(garden_tenant, "mail").reading.text
    texts = []
    for name in ("mail", "nope"):
        with pytest.raises(NotFound) as caught:
            team.read(other, name)
        texts.append(str(caught.value).replace(name, "N"))

    assert texts[0] == texts[1]
    assert team.topics(other) == []


def test_what_is_missing_takes_as_long_as_what_is_anothers(team: TeamMemory, other: int, garden_tenant: int) -> None:
    """The policy is part of the key's lookup: neither touches a row. Medians of alternating pairs, with much room."""

    def seconds(ask: Callable[[], object]) -> float:
        started = time.perf_counter()
        with pytest.raises(NotFound):
            ask()
        return time.perf_counter() - started

    pairs = [(seconds(lambda: team.read(other, "mail")), seconds(lambda: team.read(other, "nope"))) for _ in range(60)]
    anothers, missing = (statistics.median(one) for one in zip(*pairs, strict=True))

    assert max(anothers, missing) < 3 * min(anothers, missing)


OF_BLOCK = "select places from posting where tenant = {n} and block = any('{0}')"
NO_SCANS = {
    f"{OF_BLOCK} and term = 'smail'": "posting_pkey",
    f"{OF_BLOCK} and term >= 'wma' and term < 'wmb'": "posting_pkey",
    "select passage from passage where tenant = {n} and id = any('{1,2,3}')": "passage_pkey",
    "select id from passage where tenant = {n} and chunk_id = any('{a,b}')": "passage_chunk",
    "select vector from embedding where tenant = {n} and id = any('{1,2}')": "embedding_shared_pkey",
}


@pytest.mark.parametrize("statement", NO_SCANS)
def test_the_policy_keeps_the_keys_in_use(
    database: Database, garden_tenant: int, other: int, owner_dsn: str, garden: Memory, statement: str
) -> None:
    """As the application's role, with two tenants that have rows: what asks a key is not turned into a scan."""
    with database.tenant(other) as connection:
        load(connection, other, garden.root, garden.indices, garden.model.fingerprint, "beef")
        connection.execute("set local enable_seqscan = off")  # of some rows a scan is right
        plan = connection.execute("explain " + statement.replace("{n}", str(garden_tenant))).fetchall()
        text = "\n".join(line for (line,) in plan)
        assert NO_SCANS[statement] in text
        assert "Index Cond" in text
        raise psycopg.Rollback


# -- what is refused at the start ------------------------------------------------------------------------------------


def as_superuser(postgres: str, owner_dsn: str) -> str:
    return str(make_conninfo(postgres, dbname=conninfo_to_dict(owner_dsn)["dbname"]))


def test_a_superuser_and_the_owner_are_refused(owner_dsn: str, postgres: str) -> None:
    for dsn in (owner_dsn, as_superuser(postgres, owner_dsn)):
        with pytest.raises(Unfit, match="walls between tenants"):
            Database(dsn)


def test_a_role_with_bypassrls_is_refused(owner_dsn: str, postgres: str) -> None:
    with psycopg.connect(as_superuser(postgres, owner_dsn), autocommit=True) as connection:
        connection.execute("create role passer login bypassrls in role oneiros_app")
    try:
        with pytest.raises(Unfit, match="BYPASSRLS"):
            Database(str(make_conninfo(owner_dsn, user="passer")))
    finally:
        with psycopg.connect(postgres, autocommit=True) as connection:
            connection.execute("drop role passer")


def test_what_keeps_a_connection_from_being_made_is_said_at_once(app_dsn: str) -> None:
    with pytest.raises(Unavailable, match=r'role "nobody" does not exist\. Is `dsn` right'):
        Database(str(make_conninfo(app_dsn, user="nobody")))


class FakeConnection:
    """A connection that says it is of another server."""

    def __init__(self, server: int, vector: str | None):
        self.info = type("Info", (), {"server_version": server})()
        self._vector = vector

    def execute(self, _: str) -> "FakeConnection":
        return self

    def fetchone(self) -> tuple[str] | None:
        return (self._vector,) if self._vector else None


@pytest.mark.parametrize(
    ("server", "vector", "what"),
    [(150_010, "0.8.6", "PostgreSQL 15"), (180_006, None, "pgvector is not there"), (180_006, "0.7.4", "0.7.4")],
)
def test_an_old_server_or_pgvector_is_refused_with_the_reason(server: int, vector: str | None, what: str) -> None:
    with pytest.raises(Unfit, match=what):
        check(FakeConnection(server, vector))


def test_tables_of_a_newer_program_are_refused(owner_dsn: str) -> None:
    with psycopg.connect(owner_dsn, autocommit=True) as connection:
        connection.execute("insert into migration(number) values(999)")
    try:
        with pytest.raises(Unfit, match="999"):
            migrate(owner_dsn, 384)
    finally:
        with psycopg.connect(owner_dsn, autocommit=True) as connection:
            connection.execute("delete from migration where number = 999")


def test_who_upgrades_a_new_database_waits_for_who_is_at_it(postgres: str) -> None:
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("create database upgraded_twice template template0")
    dsn = str(make_conninfo(postgres, dbname="upgraded_twice"))
    try:
        with ThreadPoolExecutor(1) as pool:
            with psycopg.connect(dsn) as first, psycopg.connect(postgres, autocommit=True) as watching:
                first.execute("select pg_advisory_xact_lock(%s)", (LOCK,))
                first.execute("create extension vector")
                second = pool.submit(migrate, dsn, 384)
                waits = "select from pg_stat_activity where datname = 'upgraded_twice' and wait_event_type = 'Lock'"
                wait_until(lambda: watching.execute(waits).rowcount > 0)
            assert second.result(60) == sorted(MIGRATIONS)
    finally:
        with psycopg.connect(postgres, autocommit=True) as connection:
            connection.execute("drop database upgraded_twice with (force)")


def test_migrations_are_applied_once_and_in_order(owner_dsn: str) -> None:
    assert migrate(owner_dsn, 384) == []
    more = {**MIGRATIONS, 998: "create table later(x integer)"}
    try:
        assert migrate(owner_dsn, 384, more) == [998]
        assert migrate(owner_dsn, 384, more) == []
    finally:
        with psycopg.connect(owner_dsn, autocommit=True) as connection:
            connection.execute("drop table later")
            connection.execute("delete from migration where number = 998")


def test_a_table_made_before_a_filter_gains_its_column(owner_dsn: str) -> None:
    with psycopg.connect(owner_dsn, autocommit=True) as connection:
        connection.execute("alter table source drop column branch")

        migrate(owner_dsn, 384)

        named = "select from information_schema.columns where table_name = 'source' and column_name = 'branch'"
        assert connection.execute(named).rowcount == 1


def test_a_migration_waits_for_a_load_and_nobody_waits_for_the_migration(
    owner_dsn: str, database: Database, other: int, team: TeamMemory
) -> None:
    more = {**MIGRATIONS, 997: "alter table source add column later integer"}
    waiting = "select from pg_stat_activity where wait_event_type = 'Lock' and query like '%later integer%'"
    with ThreadPoolExecutor(1) as pool, psycopg.connect(owner_dsn, autocommit=True) as watching:
        try:
            with database.tenant(other) as load:
                load.execute("update source set title = title")
                migrating = pool.submit(migrate, owner_dsn, 384, more)
                for _ in range(2):
                    wait_until(lambda: watching.execute(waiting).rowcount > 0)
                    assert team.topics(other) == []
                    wait_until(lambda: watching.execute(waiting).rowcount == 0)
                assert not migrating.done()
            assert migrating.result(60) == [997]
        finally:
            watching.execute("alter table source drop column if exists later")
            watching.execute("delete from migration where number = 997")


def test_a_database_that_is_not_there_is_an_error_with_a_remedy(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parts.team.engine.database.WAIT_SECONDS", 0.1)
    with pytest.raises(Unavailable, match="Is `dsn` right"):
        Database(f"host={tmp_path} dbname=nope", connections=1)
