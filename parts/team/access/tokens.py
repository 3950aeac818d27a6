"""Bearer tokens that an admin makes: shown once, stored as a hash, expiring, revocable at once.

    oneiros_token_<64 hexadecimal digits><8 of their checksum>

The digits are 32 random bytes, which nobody can try through, so SHA-256 without salt or stretching hides them, and is
looked up by equality. The checksum lets a mistyped or cut token be refused without a query; redaction knows the shape.
Whether one has expired or was revoked is judged by the clock of the database, the same for every server.
"""

import datetime as dt
import hashlib
import re
import secrets
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import psycopg
from anyio.to_thread import run_sync
from mcp.server.auth.provider import AccessToken, TokenVerifier
from psycopg.rows import class_row

from memory_server.errors import UsageError
from parts.team.access.asker import Asker, AskerToken, Right, asker_token
from parts.team.engine.database import Database
from parts.team.errors import NotFound
from parts.team.tenants import check_name, find_tenant

PREFIX = "oneiros_token_"
SHAPE = re.compile(PREFIX + r"([0-9a-f]{64})([0-9a-f]{8})")
MAX_DAYS = 366  # a token that outlives its person's year is one that nobody looks after


@dataclass(frozen=True, slots=True)
class TokenRow:
    """What is known of a token that was made; the token itself is not."""

    id: int
    person: str
    may: list[str]
    created: dt.datetime
    expires: dt.datetime
    revoked: dt.datetime | None
    last_used: dt.datetime | None  # to the hour


def new_token() -> str:
    """A token nobody has."""
    digits = secrets.token_hex(32)
    return f"{PREFIX}{digits}{_checksum(digits)}"


def token_hash(token: str) -> bytes | None:
    """The 32 bytes that are stored of a token; None for what is none."""
    match = SHAPE.fullmatch(token)
    if match is None or match[2] != _checksum(match[1]):
        return None
    return hashlib.sha256(token.encode()).digest()


def _checksum(digits: str) -> str:
    return f"{zlib.crc32(digits.encode()):08x}"


class MadeTokens(TokenVerifier):
    """Verifies the tokens that an admin made, and hands any other on."""

    def __init__(self, database: Database, other: TokenVerifier | None = None):
        self._database = database
        self._other = other

    async def verify_token(self, token: str) -> AccessToken | None:
        """The token with its asker; None where it is unknown, expired or revoked: from outside the same."""
        if self._other and not token.startswith(PREFIX):
            return await self._other.verify_token(token)
        key = token_hash(token)
        return await run_sync(self._find_token, token, key) if key else None

    def _find_token(self, token: str, key: bytes) -> AskerToken | None:
        with self._database.untold() as connection:
            row = connection.execute("select tenant, person, may, expires from token_scope(%s)", [key]).fetchone()
        if row is None:
            return None
        tenant, person, may, expires = row
        return asker_token(token, Asker(tenant, person, frozenset(may), key), int(expires.timestamp()))


def create_token(dsn: str, tenant: str, person: str, may: Sequence[str], days: int) -> str:
    """Makes a token, by the owner's connection, and returns it for the only time.

    Raises UsageError for what no token can be made of, NotFound for an unknown tenant.
    """
    person = check_name(person)
    for unknown in sorted(set(may) - set(Right)):
        raise UsageError(f"there is no right {unknown!r}", remedy=f"Choose of: {', '.join(Right)}")
    if not 1 <= days <= MAX_DAYS:
        raise UsageError(f"{days} days is no life of a token", remedy=f"Give 1 to {MAX_DAYS}")
    number, token = find_tenant(dsn, tenant).id, new_token()
    with psycopg.connect(dsn) as connection:
        connection.execute(
            "insert into token(tenant, person, hash, may, expires) values(%s, %s, %s, %s, now() + %s)",
            [number, person, token_hash(token), sorted(set(may)), dt.timedelta(days)],
        )
    return token


def list_tokens(dsn: str, tenant: str) -> list[TokenRow]:
    """The tokens of a tenant, the newest first. Raises NotFound for an unknown tenant."""
    number = find_tenant(dsn, tenant).id
    with psycopg.connect(dsn, row_factory=class_row(TokenRow)) as connection:
        columns = "id, person, may, created, expires, revoked, last_used"
        return list(connection.execute(f"select {columns} from token where tenant = %s order by id desc", [number]))  # noqa: S608  our own names


def revoke_token(dsn: str, identity: int) -> str:
    """Ends a token from its next use on, and returns whose it was. Raises NotFound."""
    with psycopg.connect(dsn) as connection:
        row = connection.execute(
            "update token set revoked = coalesce(revoked, now()) where id = %s returning person", [identity]
        ).fetchone()
    if row is None:
        raise NotFound(f"there is no token {identity}", remedy="`oneiros-team token list TENANT` numbers them")
    return str(row[0])
