"""Tokens of an identity provider: JWTs (RFC 7519, as RFC 9068 and 8707 use them), verified by its published keys.

Checked are the signature, by a public key alone and with the algorithm of that key, issuer, audience, expiry, and that
the claims are there. A claim names the tenant, so the provider must not let people change it themselves. The keys come
from a file, or from the address that the settings name and no redirect; they are fetched again after KEYS_SECONDS, and
sooner for an unknown key, but at most each half minute.
"""

import hashlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jwt
from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from mcp.server.auth.provider import TokenVerifier

from memory_server.errors import NeedsRepair
from parts.team.access.asker import Asker, AskerToken, Right, asker_token
from parts.team.engine.database import Database
from parts.team.settings import TeamSettings

logger = logging.getLogger(__name__)

KEYS_SECONDS = 300.0
FETCH_SECONDS = 5.0
FETCHERS = 4  # threads that may wait for the provider; the others serve those whose tokens need none
LEEWAY_SECONDS = 30.0  # between two clocks
PUBLIC = frozenset({"RSA", "EC", "OKP"})  # kinds of keys; with a shared one whoever verifies could sign
MAX_TOKEN_CHARS = 16_000


def load_keys(settings: TeamSettings) -> Callable[[str], jwt.PyJWK]:
    """A key by its id, of those that the settings name. Raises NeedsRepair for a file that holds none."""
    if settings.identity_keys.startswith("https://"):
        return jwt.PyJWKClient(settings.identity_keys, lifespan=KEYS_SECONDS, timeout=FETCH_SECONDS).get_signing_key
    file = Path(settings.identity_keys)
    try:
        return jwt.PyJWKSet.from_json(file.read_text("utf-8")).__getitem__
    except (OSError, ValueError, jwt.PyJWTError) as error:
        raise NeedsRepair("the keys of the identity provider cannot be read", where=file) from error


class IdentityTokens(TokenVerifier):
    """Verifies the tokens of one identity provider."""

    def __init__(self, settings: TeamSettings, database: Database):
        """Raises NeedsRepair where the keys are in a file that cannot be read."""
        self._settings = settings
        self._key_of = load_keys(settings)
        self._database = database
        self._limiter = CapacityLimiter(FETCHERS)
        self._jwt = jwt.PyJWT({"enforce_minimum_key_length": True})

    async def verify_token(self, token: str) -> AskerToken | None:
        """The token with its asker; None for one that fails any check, whichever it is."""
        if len(token) > MAX_TOKEN_CHARS:
            return None
        return await run_sync(self._verify, token, limiter=self._limiter)

    def _verify(self, token: str) -> AskerToken | None:
        try:
            claims = self._claims(token)
        except jwt.PyJWKClientConnectionError:
            logger.warning("the keys of the identity provider cannot be fetched; its tokens are refused")
            return None
        except (jwt.PyJWTError, KeyError, ValueError):  # no such key in a file; what was fetched is no JSON
            return None
        settings = self._settings
        name, person = claims.get(settings.tenant_claim), claims.get(settings.person_claim)
        if not (isinstance(name, str) and isinstance(person, str) and person):
            return None
        with self._database.untold() as connection:
            (tenant,) = connection.execute("select tenant_named(%s)", [name]).fetchone() or (None,)
        if tenant is None:
            return None
        key = hashlib.sha256(f"{settings.identity_issuer}\n{claims['sub']}".encode()).digest()
        asker = Asker(tenant, person, _rights(claims, settings.scope_prefix), key)
        return asker_token(token, asker, int(claims["exp"]))

    def _claims(self, token: str) -> dict[str, Any]:
        key = self._key_of(str(jwt.get_unverified_header(token).get("kid", "")))
        if key.key_type not in PUBLIC:
            raise jwt.InvalidKeyError("a shared key proves nothing")
        claims: dict[str, Any] = self._jwt.decode(
            token,
            key,
            algorithms=[key.algorithm_name],
            audience=self._settings.identity_audience,
            issuer=self._settings.identity_issuer,
            leeway=LEEWAY_SECONDS,
            options={"require": ["exp", "iss", "aud", "sub"]},
        )
        return claims


def _rights(claims: dict[str, Any], prefix: str) -> frozenset[str]:
    """The rights that `scope` (RFC 8693, words) or `scp` (a list, or words) grants."""
    granted = claims.get("scope", claims.get("scp", ""))
    words = granted.split() if isinstance(granted, str) else granted if isinstance(granted, list) else []
    named = {str(word).removeprefix(prefix) for word in words if str(word).startswith(prefix)}
    return frozenset(named & set(Right))
