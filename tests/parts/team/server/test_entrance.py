"""Who gets in, and what is refused before the memory is asked."""

import contextlib
import json
import socket
import ssl
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest

from memory_server.faces import connections
from parts.team.access.tokens import create_token, list_tokens, new_token, revoke_token
from parts.team.errors import Unfit
from parts.team.server.app import TeamConnection
from tests.parts.team.access.test_identity import AUDIENCE, ISSUER, KEY, claims, public_jwk, signed
from tests.parts.team.certificates import loopback_certificate
from tests.parts.team.server.conftest import Served, Start

pytestmark = pytest.mark.team

ROUTES = [
    ("GET", "/api/recall?query=warm"),
    ("POST", "/api/recall"),
    ("GET", "/api/search?query=warm"),
    ("GET", "/api/exact?query=warm"),
    ("GET", "/api/read?name=topics/hill.md"),
    ("GET", "/api/topics"),
    ("GET", "/api/status"),
    ("POST", "/mcp"),
    ("GET", "/mcp"),
    ("GET", "/openapi.json"),
    ("GET", "/metrics"),
    ("GET", "/no/such/route"),
    ("DELETE", "/healthy"),
]


@pytest.mark.parametrize(
    "authorization", ["", "Bearer", "Basic YTpi", "Bearer oneiros_token_", "made", "cut", "revoked"]
)
def test_no_route_answers_without_a_token_that_is_known(served: Served, owner_dsn: str, authorization: str) -> None:
    if authorization == "made":
        authorization = f"Bearer {new_token()}"
    if authorization == "cut":
        authorization = f"Bearer {served.ants[:-1]}"
    if authorization == "revoked":
        authorization = f"Bearer {served.ants}"
        revoke_token(owner_dsn, list_tokens(owner_dsn, served.ants_name)[0].id)

    with served.client() as client:
        answers = [client.request(*route, headers={"authorization": authorization}) for route in ROUTES]

    assert {answer.status_code for answer in answers} == {401}
    assert {answer.headers["www-authenticate"] for answer in answers} == {"Bearer"}
    assert len({answer.text for answer in answers}) == 1
    assert served.memory.asked == []


def test_health_and_readiness_are_told_to_anybody_and_say_nothing_else(served: Served) -> None:
    with served.client() as client:
        health, ready = client.get("/health"), client.get("/ready")

    assert (health.status_code, health.json()) == (200, {"alive": True})
    assert (ready.status_code, ready.json()) == (200, {"ready": True})


def test_a_page_of_another_origin_may_not_ask(served: Served) -> None:
    with served.client(served.ants) as client:
        foreign = client.get("/api/topics", headers={"origin": "https://evil.example.org"})
        own = client.get("/api/topics", headers={"origin": "http://team.test"})

    assert (foreign.status_code, own.status_code) == (403, 200)


def test_a_body_beyond_the_quota_is_refused_with_the_number(start: Start) -> None:
    served = start(write_bytes=2_000)

    with served.client(served.ants) as client:
        answer = client.post("/api/recall", json={"query": "x" * 3_000})
        pieces = client.post("/api/recall", content=(b"x" * 1_000 for _ in range(4)))

    assert (answer.status_code, pieces.status_code) == (413, 413)
    assert "2000 bytes" in answer.json()["error"]["what"]
    assert served.memory.asked == []


def test_a_token_for_other_things_may_not_read(served: Served, owner_dsn: str) -> None:
    token = create_token(owner_dsn, served.ants_name, "writer", ["publish"], 1)

    with served.client(token) as client:
        answer = client.get("/api/recall?query=warm")

    assert answer.status_code == 403
    assert answer.json()["error"]["kind"] == "Forbidden"
    assert "--may read" in answer.json()["error"]["remedy"]
    assert served.memory.asked == []


def test_questions_beyond_the_quota_are_refused_with_the_time_to_wait(start: Start) -> None:
    served = start(questions_a_minute=3)

    with served.client(served.ants) as ants, served.client(served.bees) as bees:
        statuses = [ants.get("/api/recall?query=warm").status_code for _ in range(5)]
        refused, other = ants.get("/api/topics"), bees.get("/api/topics")

    assert sorted(statuses)[-1] == 429
    assert other.status_code == 200
    if refused.status_code == 429:  # unless a minute began meanwhile
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert refused.json()["error"]["kind"] == "QuotaExceeded"
        assert "3 questions" in refused.json()["error"]["what"]


def test_a_tenant_may_have_a_quota_of_its_own(served: Served, owner_dsn: str) -> None:
    with psycopg.connect(owner_dsn) as connection:
        connection.execute("update tenant set most_questions = 0 where name = %s", [served.ants_name])

    with served.client(served.ants) as ants, served.client(served.bees) as bees:
        assert ants.get("/api/topics").status_code == 429
        assert bees.get("/api/topics").status_code == 200


def test_two_servers_count_together(start: Start) -> None:
    first = start(questions_a_minute=5)
    second = start(questions_a_minute=5)

    with first.client(first.ants) as one, second.client(first.ants) as other:
        answers = [client.get("/api/topics").status_code for _ in range(8) for client in (one, other)]

    assert answers.count(200) <= 10  # five a minute, of at most two minutes
    assert answers[-1] == 429 or answers.count(429) >= 5


def test_an_error_of_ours_says_nothing_of_what_went_wrong(served: Served) -> None:
    def broken() -> None:
        raise ValueError("the hill is warm")

    served.memory.before = broken

    with served.client(served.ants) as client:
        answer = client.get("/api/recall?query=warm")

    assert answer.status_code == 500
    assert "warm" not in answer.text
    assert answer.headers["x-request-id"]
    json.loads(answer.text)


def test_tokens_of_a_provider_and_of_an_admin_are_taken_side_by_side(start: Start, tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps({"keys": [public_jwk(KEY, "one")]}), encoding="utf-8")
    served = start(identity_issuer=ISSUER, identity_audience=AUDIENCE, identity_keys=str(keys))
    provided = signed(claims(tenant=served.bees_name, sub="bob"))

    with served.client(served.ants) as ant, served.client(provided) as bee, served.client(provided + "x") as eve:
        answers = [one.get("/api/topics") for one in (ant, bee, eve)]
        metadata = ant.get("/.well-known/oauth-protected-resource/mcp").json()

    assert [answer.status_code for answer in answers] == [200, 200, 401]
    assert answers[0].json()["topics"][0]["path"] == "topics/hill.md"
    assert answers[1].json()["topics"][0]["path"] == "topics/hive.md"
    assert answers[2].headers["www-authenticate"] == (
        'Bearer resource_metadata="http://team.test/.well-known/oauth-protected-resource/mcp"'
    )
    assert metadata["authorization_servers"] == [ISSUER]
    assert metadata["resource"] == "http://team.test/mcp"


def test_a_provider_that_is_half_named_stops_the_server(start: Start) -> None:
    with pytest.raises(Unfit, match="identity_issuer stands alone"):
        start(identity_issuer=ISSUER)


def test_tls_is_spoken_where_a_certificate_is_named(start: Start, tmp_path: Path) -> None:
    certificate, key = loopback_certificate(tmp_path)
    served = start(tls_certificate=str(certificate), tls_key=str(key))

    answer = httpx.get(f"{served.url}/health", verify=ssl.create_default_context(cafile=str(certificate)))

    assert answer.json() == {"alive": True}
    with pytest.raises(httpx.TransportError):
        httpx.get(served.url.replace("https", "http") + "/health")


HALVES = {
    "nothing": b"",
    "half a header": b"POST /mcp HTTP/1.1\r\nHost: te",
    "no body": b"POST /mcp HTTP/1.1\r\nHost: team\r\nAuthorization: Bearer %s\r\nContent-Length: 9\r\n\r\n",
    "no token and no body": b"POST /mcp HTTP/1.1\r\nHost: team\r\nContent-Length: 9\r\n\r\n",
    "what needs no token, and no body": b"POST /health HTTP/1.1\r\nHost: team\r\nContent-Length: 9\r\n\r\n",
}


@pytest.mark.parametrize("half", HALVES.values(), ids=HALVES)
def test_whoever_does_not_end_a_request_holds_up_nobody(
    start: Start, half: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TeamConnection, "room", 5)
    served = start(most_requests=1)
    address = urlsplit(served.url)
    with contextlib.ExitStack() as stack:
        for _ in range(10):
            opened = stack.enter_context(socket.create_connection((address.hostname, address.port), 30))
            opened.sendall(half.replace(b"%s", served.ants.encode()))
        with served.client(served.ants) as client:
            answers = [client.get("/api/topics").status_code for _ in range(3)]

    assert answers == [200] * 3


def test_a_half_request_is_cut_off(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.05)
    address = urlsplit(start().url)
    with socket.create_connection((address.hostname, address.port), 30) as opened:
        opened.sendall(HALVES["half a header"])

        assert opened.recv(100) == b""
