"""The tables of a team's memory, made by numbered migrations that only go forward.

Every table has the number of its tenant in front of its key, and one policy for the application's role: rows of the
tenant that the transaction names, to read and to write. A transaction that names none fails. The role owns nothing, so
it can neither switch that off nor read around it. The owner, who could, sees all rows by a policy of its own, so it
need be no superuser.

- `source` and `passage` are the ledger; `source.layout` holds what search keeps in memory of each passage, so that a
  tenant is read in as many rows as it has sources.
- `posting` has one row a term and block of BLOCK passages, with all of its places in one value, read in one piece into
  the arrays that rank. Terms stand there as text, behind a letter that says of which index, since beginnings of words
  are asked for; text comparison is leakproof, so the policy does not keep the planner from the key.
- `embedding` is partitioned by tenant: small ones share a partition and are scanned exactly, a large one has its own,
  with a graph of its own, so that no neighbour of another tenant takes a place in it.
"""

import time
from collections.abc import Mapping

import psycopg
from psycopg.errors import DeadlockDetected, LockNotAvailable

from memory_server.fields import COLUMNS, FilterKind
from parts.team.errors import Unavailable, Unfit, first_line

ROLE = "oneiros_app"
BLOCK = 1 << 15  # passages a block of postings
LOCK = 7_126_001  # of the advisory lock under which one process at a time migrates
LOCK_MS = 500  # that a migration waits for a table at a time, since whoever asks meanwhile waits behind it
TRIES = 600  # each followed by a second in which others go on: ten minutes and more, which no load takes

EMPTY = {"text": "", "text[]": "{}"}
FILTERED = {field.column: "text[]" if field.kind is FilterKind.NAMES else "text" for field in COLUMNS}  # columns
MIGRATIONS: Mapping[int, str] = {
    1: """
create table tenant(
    id integer primary key generated always as identity,
    name text not null unique,
    created timestamptz not null default now(),
    git_rev text not null default '',       -- the commit that the index stands at
    generation bigint not null default 0,   -- rises with every change of the index
    next_source integer not null default 1,
    next_row integer not null default 1,
    calibration text not null default '',
    made_by text not null default '',       -- format of the ledger and fingerprint of the model
    is_apart boolean not null default false -- its vectors have a partition and a graph of their own
);
create table source(
    tenant integer not null references tenant on delete cascade,
    id integer not null,
    path text not null,
    layer text not null,
    title text not null,
    date date,
    kind text not null,
    project text not null,
    machine text not null,
    agent text not null,
    namespace text not null,
    tags text[] not null,
    entities text[] not null,               -- and what is a filter since then, see `FILTERED`
    supersedes text[] not null,
    identity text not null,
    holds_from date,
    holds_until date,
    content_hash text not null,             -- sha256 of the file
    text text not null,                     -- the file
    body text not null,                     -- what the index of whole sources holds
    chunks integer not null,                -- passages, the ones that cannot be found too
    tokens integer not null,                -- words of all of them, as the keyword index counts
    body_tokens integer not null,
    first_row integer not null,
    layout bytea not null,                  -- int32 (n, 6) of what can be found, see `loading.LAYOUT`
    primary key(tenant, id),
    unique(tenant, path)
);
create table passage(
    tenant integer not null,
    id integer not null,
    source integer not null,
    chunk_id text not null,
    ordinal integer not null,
    first_line integer not null,
    last_line integer not null,
    headings text[] not null,
    context text not null,
    passage text not null,
    standing text not null,
    settled_at integer not null,
    person_chars integer not null,
    primary key(tenant, id),
    foreign key(tenant, source) references source on delete cascade
);
create index passage_source on passage(tenant, source);
create index passage_chunk on passage(tenant, chunk_id);
create table posting(
    tenant integer not null references tenant on delete cascade,
    term text collate "C" not null,
    block integer not null,
    holders integer not null,               -- passages or sources of the block that hold the term
    places bytea not null,                  -- int32, see `loading.py`
    primary key(tenant, block, term)
);
alter table posting alter column places set storage external;
create table embedding(
    tenant integer not null,
    id integer not null,
    source integer not null,
    layer text not null,
    vector vector({dimensions}) not null,
    signs bytea not null,                   -- token vectors, packed
    primary key(tenant, id)
) partition by list(tenant);
alter table embedding alter column vector set storage plain;
alter table embedding alter column signs set storage external;
create table embedding_shared partition of embedding default;
create index embedding_shared_source on embedding_shared(tenant, source);

do $$ begin
    if not exists (select from pg_roles where rolname = 'oneiros_app') then
        create role oneiros_app login nosuperuser nobypassrls nocreatedb nocreaterole;
    end if;
end $$;
alter table tenant enable row level security;
alter table tenant force row level security;
create policy own on tenant using (id = current_setting('app.tenant')::int)
    with check (id = current_setting('app.tenant')::int);
do $$ declare name text; begin
    foreach name in array array['source', 'passage', 'posting', 'embedding', 'embedding_shared'] loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('create policy own on %I using (tenant = current_setting(''app.tenant'')::int)'
            ' with check (tenant = current_setting(''app.tenant'')::int)', name);
    end loop;
end $$;
grant usage on schema public to oneiros_app;
grant select, update on tenant to oneiros_app;
grant select, insert, update, delete on source, passage, posting, embedding to oneiros_app;
create table migration(number integer primary key, applied timestamptz not null default now());
grant select on migration to oneiros_app;
""",
    # Who asks, and how much. The application's role has no right to these tables: only functions of their owner read
    # them, by the hash of a token that somebody has shown.
    10: """
alter table tenant add column most_questions integer;   -- a minute and token; null: as the server's settings say
alter table tenant add column most_passages integer;    -- the same
alter policy own on tenant to oneiros_app;
create policy keeper on tenant to current_user using (true) with check (true);
create table token(
    id integer primary key generated always as identity,
    tenant integer not null references tenant on delete cascade,
    person text not null,
    hash bytea not null unique,
    may text[] not null,
    created timestamptz not null default now(),
    expires timestamptz not null,
    revoked timestamptz,
    last_used timestamptz                   -- to the hour
);
create unlogged table question_count(
    key bytea primary key,                  -- of a token, see team/access/asker.py
    tenant integer not null references tenant on delete cascade,
    minute timestamptz not null,
    questions integer not null
) with (fillfactor = 50);
do $$ declare name text; begin
    foreach name in array array['token', 'question_count'] loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('create policy keeper on %I to current_user using (true) with check (true)', name);
    end loop;
end $$;

create function token_scope(given bytea)
    returns table(tenant integer, person text, may text[], expires timestamptz)
    language sql security definer set search_path = pg_catalog, public, pg_temp as $$
    update token set last_used = now() where hash = given and revoked is null and expires > now()
        and (last_used is null or last_used < now() - interval '1 hour');
    select t.tenant, t.person, t.may, t.expires from token t
        where t.hash = given and t.revoked is null and t.expires > now()
$$;
create function tenant_named(wanted text) returns integer
    language sql stable security definer set search_path = pg_catalog, public, pg_temp as $$
    select id from tenant where name = wanted
$$;
create function count_question(asker bytea, whose integer, most integer) returns table(allowed integer, wait integer)
    language sql security definer set search_path = pg_catalog, public, pg_temp as $$
    with own as (select coalesce(t.most_questions, most) as allowed from tenant t where t.id = whose),
    counted as (
        insert into question_count as c values (asker, whose, date_trunc('minute', now()), 1)
        on conflict (key) do update set minute = excluded.minute,
            questions = case when c.minute = excluded.minute then c.questions + 1 else 1 end
        returning c.questions
    )
    select own.allowed, case when counted.questions > own.allowed then 60 - floor(extract(second from now()))::int
        else 0 end from own, counted
$$;
revoke all on function token_scope, tenant_named, count_question from public;
grant execute on function token_scope, tenant_named, count_question to oneiros_app;
""",
    # What was accepted and is not indexed yet. No foreign key: its check would wait for the load that holds the tenant.
    20: """
create table outbox(
    tenant integer not null,
    id bigint not null generated always as identity,
    queued timestamptz not null default now(),
    commit text not null default '',        -- empty until it is in the repository
    primary key(tenant, id)
);
alter table outbox enable row level security;
alter table outbox force row level security;
create policy own on outbox using (tenant = current_setting('app.tenant')::int)
    with check (tenant = current_setting('app.tenant')::int);
grant select, insert, update, delete on outbox to oneiros_app;
create function head_of(whose integer, indexed text) returns text language sql stable as $$
    select coalesce((select commit from outbox where tenant = whose and commit <> '' order by id desc limit 1), indexed)
$$;
""",
    # An owner that is no superuser, as in a managed PostgreSQL, does with whole tenants what a superuser does.
    30: """
do $$ declare name text; begin
    foreach name in array array['source', 'passage', 'posting', 'embedding', 'embedding_shared', 'outbox'] loop
        execute format('alter policy own on %I to oneiros_app', name);
        execute format('create policy keeper on %I to current_user using (true) with check (true)', name);
    end loop;
end $$;
""",
}


def migrate(dsn: str, dimensions: int, migrations: Mapping[int, str] = MIGRATIONS) -> list[int]:
    """Brings a database to this program's tables, each migration in a transaction; returns the numbers of the new ones.

    `dsn`: of a role that may make tables. Raises Unfit where a newer program has been at it, or has other dimensions,
    and Unavailable where the tables are in use for too long.
    """
    with psycopg.connect(dsn, autocommit=True) as connection:
        if unknown := read_applied(connection) - migrations.keys():
            raise Unfit(
                f"the database has migration {max(unknown)}, which this program does not know",
                remedy="Run the program that made it, or a newer one",
            )
        _require_vector(connection)
        texts = {number: migrations[number].replace("{dimensions}", str(dimensions)) for number in sorted(migrations)}
        new = [number for number, text in texts.items() if _apply(connection, number, text)]
        if more := missing_columns(connection):
            _apply(connection, None, more)
        return new


def _require_vector(connection: psycopg.Connection) -> None:
    try:
        with connection.transaction():
            connection.execute("select pg_advisory_xact_lock(%s)", (LOCK,))
            connection.execute("create extension if not exists vector")
    except psycopg.Error as error:
        raise Unfit(
            f"pgvector is not in this database: {first_line(error)}",
            remedy="Have an admin run `create extension vector` in it, and in template1",
        ) from error


def _apply(connection: psycopg.Connection, number: int | None, text: str) -> bool:
    """Whether a migration was missing; then it is applied, as soon as nobody holds what it changes.

    One without a number may be applied again and is not noted.
    """
    for _ in range(TRIES):
        try:
            with connection.transaction():
                connection.execute(f"set local lock_timeout = {LOCK_MS}")
                connection.execute("select pg_advisory_xact_lock(%s)", (LOCK,))
                if number in read_applied(connection):
                    return False
                connection.execute(text)
                if number is not None:
                    connection.execute("insert into migration(number) values(%s)", (number,))
                return True
        except (LockNotAvailable, DeadlockDetected):
            time.sleep(1)
    raise Unavailable("the tables are in use", remedy="End the indexer for a moment, and run `oneiros-team upgrade`")


def missing_columns(connection: psycopg.Connection) -> str:
    """What adds the columns of filters that came since the table was made, which the next load fills; often nothing."""
    query = "select column_name from information_schema.columns where table_name = 'source'"
    known = {name for (name,) in connection.execute(query)}
    return "".join(
        f"alter table source add column if not exists {column} {kind} not null default '{EMPTY[kind]}';"
        for column, kind in FILTERED.items()
        if known and column not in known
    )


def read_applied(connection: psycopg.Connection) -> set[int]:
    """The migrations that a database has."""
    if connection.execute("select to_regclass('migration')").fetchone() == (None,):
        return set()
    return {row[0] for row in connection.execute("select number from migration")}
