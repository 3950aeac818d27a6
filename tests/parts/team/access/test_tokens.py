"""Tokens that an admin makes, in a real database."""

import asyncio

import psycopg
import pytest

from memory_server.errors import UsageError
from memory_server.redaction.redactor import redact
from parts.team.access.asker import AskerToken
from parts.team.access.tokens import MadeTokens, create_token, list_tokens, new_token, revoke_token, token_hash
from parts.team.engine.database import Database
from parts.team.errors import NotFound
from parts.team.tenants import create_tenant, find_tenant

pytestmark = pytest.mark.team


@pytest.fixture
def tenant(owner_dsn: str, request: pytest.FixtureRequest) -> str:
    """The name of a tenant of this test's own."""
    return create_tenant(owner_dsn, request.node.name).name


def verified(database: Database, token: str) -> AskerToken | None:
    found = asyncio.run(MadeTokens(database).verify_token(token))
    assert found is None or isinstance(found, AskerToken)
    return found


def test_a_token_carries_the_asker_that_it_was_made_for(owner_dsn: str, tenant: str, database: Database) -> None:
    token = create_token(owner_dsn, tenant, "ada@example.org", ["read", "publish"], 30)

    found = verified(database, token)

    assert found is not None
    assert (found.asker.tenant, found.asker.person) == (find_tenant(owner_dsn, tenant).id, "ada@example.org")
    assert found.asker.may == {"read", "publish"}


def test_no_column_holds_the_token(owner_dsn: str, tenant: str, database: Database) -> None:
    token = create_token(owner_dsn, tenant, "ada", ["read"], 30)

    with psycopg.connect(owner_dsn) as connection:
        rows = connection.execute(
            "select t::text, encode(t.hash, 'hex') from token t join tenant on tenant.id = t.tenant where name = %s",
            [tenant],
        ).fetchall()

    assert len(rows) == 1
    secret = token.removeprefix("oneiros_token_")[:64]
    assert secret not in str(rows)


def test_a_revoked_token_is_unknown_at_its_next_use(owner_dsn: str, tenant: str, database: Database) -> None:
    token = create_token(owner_dsn, tenant, "ada", ["read"], 30)
    assert verified(database, token) is not None

    assert revoke_token(owner_dsn, list_tokens(owner_dsn, tenant)[0].id) == "ada"

    assert verified(database, token) is None


def test_an_expired_token_is_unknown(owner_dsn: str, tenant: str, database: Database) -> None:
    token = create_token(owner_dsn, tenant, "late", ["read"], 1)

    with psycopg.connect(owner_dsn) as connection:
        connection.execute("update token set expires = now() - interval '1 second' where person = 'late'")

    assert verified(database, token) is None


def test_the_list_says_when_a_token_was_last_used(owner_dsn: str, tenant: str, database: Database) -> None:
    token = create_token(owner_dsn, tenant, "ada", ["read"], 30)
    (before,) = list_tokens(owner_dsn, tenant)

    verified(database, token)

    (after,) = list_tokens(owner_dsn, tenant)
    assert before.last_used is None
    assert after.last_used is not None


@pytest.mark.parametrize("change", [str.upper, lambda t: t[:-1], lambda t: t + "0", lambda t: t[:20] + "x" + t[21:]])
def test_a_mistyped_token_is_known_without_the_database(change) -> None:  # type: ignore[no-untyped-def]
    token = new_token()

    assert token_hash(token) is not None
    assert token_hash(change(token)) is None


def test_redaction_masks_every_token() -> None:
    tokens = [new_token() for _ in range(200)]

    shown = redact("\n".join(f"curl -H 'Authorization: Bearer {token}' and {token}" for token in tokens))

    assert not [token for token in tokens if token in shown]


@pytest.mark.parametrize(
    ("person", "may", "days"), [(" ", ["read"], 3), ("ada", ["root"], 3), ("ada", ["read"], 0), ("ada", ["read"], 999)]
)
def test_what_makes_no_token_is_refused(owner_dsn: str, tenant: str, person: str, may: list[str], days: int) -> None:

    with pytest.raises(UsageError):
        create_token(owner_dsn, tenant, person, may, days)

    assert list_tokens(owner_dsn, tenant) == []


def test_an_unknown_tenant_or_token_is_said_to_be_unknown(owner_dsn: str, tenant: str) -> None:
    with pytest.raises(NotFound, match="bees"):
        create_token(owner_dsn, "bees", "ada", ["read"], 3)
    with pytest.raises(NotFound, match="7000"):
        revoke_token(owner_dsn, 7_000)


def test_the_application_reads_no_token_but_one_that_is_shown(owner_dsn: str, tenant: str, database: Database) -> None:
    create_token(owner_dsn, tenant, "ada", ["read"], 3)

    for table in ("token", "question_count"):
        with database.tenant(1) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(f"select * from {table}")
