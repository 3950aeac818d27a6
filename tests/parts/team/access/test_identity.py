"""Tokens of an identity provider: signed by real keys, which come from a file or from a server on the loopback."""

import asyncio
import json
import ssl
import time
from collections.abc import Callable
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from memory_server.errors import NeedsRepair
from parts.team.access.asker import AskerToken
from parts.team.access.identity import IdentityTokens, load_keys
from parts.team.engine.database import Database
from parts.team.settings import TeamSettings
from parts.team.tenants import create_tenant
from tests.loopback import served
from tests.parts.team.certificates import loopback_certificate

pytestmark = pytest.mark.team

KEY = ec.generate_private_key(ec.SECP256R1())
OTHER = ec.generate_private_key(ec.SECP256R1())
ISSUER, AUDIENCE = "https://id.example.org", "https://memory.example.org/mcp"


def public_jwk(key: Any, kid: str) -> dict[str, Any]:
    algorithm = jwt.algorithms.RSAAlgorithm if isinstance(key, rsa.RSAPrivateKey) else jwt.algorithms.ECAlgorithm
    return {**algorithm.to_jwk(key.public_key(), as_dict=True), "kid": kid, "use": "sig"}


@pytest.fixture
def settings(tmp_path: Path) -> TeamSettings:
    file = tmp_path / "keys.json"
    shared = {"kty": "oct", "k": "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0", "kid": "shared"}
    file.write_text(json.dumps({"keys": [public_jwk(KEY, "one"), shared]}), encoding="utf-8")
    return TeamSettings(identity_issuer=ISSUER, identity_audience=AUDIENCE, identity_keys=str(file))


def claims(**changed: Any) -> dict[str, Any]:
    now = int(time.time())
    whole = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "exp": now + 600, "iat": now, "tenant": "ants"}
    return {
        key: value for key, value in {**whole, "scope": "openid oneiros:read", **changed}.items() if value is not None
    }


def signed(payload: dict[str, Any], key: Any = KEY, kid: str = "one", algorithm: str = "ES256") -> str:
    return jwt.encode(payload, key, algorithm=algorithm, headers={"kid": kid})


Verified = Callable[[TeamSettings, str], AskerToken | None]


@pytest.fixture(scope="module")
def tenants(owner_dsn: str) -> dict[str, int]:
    return {name: create_tenant(owner_dsn, name).id for name in ("ants", "bees")}


@pytest.fixture
def verified(database: Database, tenants: dict[str, int]) -> Verified:
    """What a server makes of a token."""
    return lambda settings, token: asyncio.run(IdentityTokens(settings, database).verify_token(token))


def test_a_signed_token_carries_the_asker_of_its_claims(
    verified: Verified, tenants: dict[str, int], settings: TeamSettings
) -> None:
    found = verified(settings, signed(claims()))

    assert found is not None
    assert (found.asker.tenant, found.asker.person, found.asker.may) == (tenants["ants"], "ada", frozenset({"read"}))


def test_the_claims_that_say_tenant_person_and_rights_can_be_named(
    verified: Verified, tenants: dict[str, int], settings: TeamSettings
) -> None:
    settings = replace(settings, tenant_claim="org", person_claim="email", scope_prefix="")

    found = verified(settings, signed(claims(org="bees", email="ada@example.org", scope=None, scp=["read", "publish"])))

    assert found is not None
    assert (found.asker.tenant, found.asker.person, found.asker.may) == (
        2,
        "ada@example.org",
        frozenset({"read", "publish"}),
    )


@pytest.mark.parametrize(
    "expected",
    [
        claims(exp=int(time.time()) - 120),
        claims(exp=None),
        claims(nbf=int(time.time()) + 600),
        claims(iss="https://elsewhere.example.org"),
        claims(aud="https://other.example.org/mcp"),
        claims(aud=None),
        claims(sub=None),
        claims(tenant=None),
        claims(tenant="wasps"),
        claims(tenant=["ants"]),
        claims(tenant=1),
    ],
)
def test_a_token_with_a_wrong_or_missing_claim_is_refused(
    verified: Verified, settings: TeamSettings, expected: dict[str, Any]
) -> None:
    assert verified(settings, signed(expected)) is None


@pytest.mark.parametrize(
    "token",
    [
        signed(claims(), OTHER),
        signed(claims(), kid="two"),
        signed(claims())[:-4] + "AAAA",
        signed(claims(), b"secretsecretsecretsecretsecretsecret"[:32], "shared", "HS256"),
        signed(claims(), KEY.public_key().public_numbers().x.to_bytes(32, "big"), "one", "HS256"),
        jwt.encode(claims(), "", algorithm="none", headers={"kid": "one"}),
        "a.b.c",
        "",
        "x" * 20_000,
    ],
    ids=[
        "other key",
        "unknown key",
        "changed",
        "shared key",
        "public key as a secret",
        "none",
        "noise",
        "empty",
        "long",
    ],
)
def test_a_token_that_the_provider_did_not_sign_is_refused(
    verified: Verified, settings: TeamSettings, token: str
) -> None:
    assert verified(settings, token) is None


def test_a_token_without_rights_may_nothing(verified: Verified, settings: TeamSettings) -> None:
    found = verified(settings, signed(claims(scope="openid profile oneiros:everything read")))

    assert found is not None
    assert found.asker.may == frozenset()


def test_one_person_has_one_key_for_quotas_whatever_the_token(verified: Verified, settings: TeamSettings) -> None:
    first, second, other = (
        verified(settings, signed(told)) for told in (claims(), claims(exp=int(time.time()) + 60), claims(sub="bob"))
    )

    assert first and second and other
    assert first.asker.key == second.asker.key != other.asker.key


def test_keys_that_no_file_holds_stop_the_server(settings: TeamSettings, tmp_path: Path) -> None:
    (tmp_path / "none.json").write_text("{}", encoding="utf-8")

    for name in ("none.json", "missing.json"):
        with pytest.raises(NeedsRepair, match="keys of the identity provider"):
            load_keys(replace(settings, identity_keys=str(tmp_path / name)))


def test_keys_are_fetched_from_the_address_that_is_named_and_nowhere_else(
    verified: Verified, settings: TeamSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = []

    class Provider(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append(self.path)
            self.send_response(302 if self.path == "/moved" else 200)
            self.send_header("location", "/keys")
            self.end_headers()
            self.wfile.write(Path(settings.identity_keys).read_bytes() if self.path == "/keys" else b"<html>")

    certificate, private = loopback_certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, private)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with served(Provider, context) as url:
        found, unknown, moved, broken = (
            verified(replace(settings, identity_keys=f"{url}/{page}"), token)
            for page, token in [
                ("keys", signed(claims())),
                ("keys", signed(claims(), kid="two")),
                ("moved", signed(claims())),
                ("page", signed(claims())),
            ]
        )

    assert found is not None
    assert (unknown, moved, broken) == (None, None, None)
    assert requests == ["/keys", "/keys", "/moved", "/page"]


def test_a_provider_that_cannot_be_reached_lets_nobody_in(verified: Verified, settings: TeamSettings) -> None:
    assert verified(replace(settings, identity_keys="https://127.0.0.1:1/keys"), signed(claims())) is None
