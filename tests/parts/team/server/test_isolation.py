"""One tenant at every route of the other: no row, and no error that tells a thing of the other from one that is not."""

import json
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from parts.team.access.tokens import create_token
from parts.team.outbox import Outbox
from parts.team.repositories import Repositories
from parts.team.tenants import create_tenant, find_tenant
from tests.parts.team.server.conftest import Served
from tests.parts.team.server.test_mcp import Mode, tool

pytestmark = pytest.mark.team

THERE, NOT_THERE = "topics/hive.md", "topics/void.md"

ASKS: list[Callable[[httpx.Client, str], httpx.Response]] = [
    lambda client, path: client.get("/api/read", params={"name": path}),
    lambda client, path: client.get("/api/read", params={"name": path, "first": 1, "last": 9}),
    lambda client, path: client.get("/api/recall", params={"query": f"warm topic:{path[7:-3]}"}),
    lambda client, path: client.post("/api/recall", json={"query": "hive", "topic": path[7:-3], "explain": True}),
    lambda client, path: client.get("/api/search", params={"query": path}),
    lambda client, path: client.get("/api/exact", params={"query": f'"{path}"'}),
    lambda client, path: client.get("/api/topics", params={"name": path}),
    lambda client, path: client.get("/api/status", params={"tenant": path}),
]


@pytest.mark.parametrize("ask", ASKS)
def test_what_another_tenant_has_looks_as_if_it_were_not_there(
    served: Served, ask: Callable[..., httpx.Response]
) -> None:
    with served.client(served.ants) as client:
        forbidden, missing = ask(client, THERE), ask(client, NOT_THERE)

    assert forbidden.status_code == missing.status_code
    assert forbidden.text.replace("hive", "void") == missing.text.replace("hive", "void")
    assert "the hive is warm" not in forbidden.text
    varying = ("date", "x-request-id")
    assert [one for one in forbidden.headers.items() if one[0] not in varying] == [
        one for one in missing.headers.items() if one[0] not in varying
    ]


def test_whatever_a_request_names_its_tenant_is_that_of_the_token(served: Served) -> None:
    (number,) = (one for one in served.memory.files if "topics/hive.md" in served.memory.files[one])
    names = {"tenant": str(number), "x-tenant": str(number), "x-oneiros-tenant": served.bees_name, "cookie": "tenant=2"}

    with served.client(served.ants) as client:
        by_query = client.get("/api/recall", params={"query": "warm", **names}, headers=names)
        by_body = client.post("/api/recall", json={"query": "warm", "tenant": number})

    assert by_query.status_code in (200, 422)
    assert "hive" not in by_query.text
    assert by_body.status_code == 422
    assert {tenant for tenant, _ in served.memory.asked} <= set(served.memory.files) - {number}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_no_tool_tells_a_thing_of_another_tenant_from_one_that_is_not(served: Served, mode: Mode) -> None:
    forbidden = tool(served, served.ants, "read_memory", mode, name=THERE)
    missing = tool(served, served.ants, "read_memory", mode, name=NOT_THERE)

    assert forbidden[0] is missing[0] is True
    assert forbidden[1].replace("hive", "void") == missing[1]


def test_tenants_who_ask_at_once_get_rows_of_their_own_alone(served: Served) -> None:
    everyone = threading.Barrier(8)

    def ask(number: int) -> list[tuple[int, list[str]]]:
        token = served.ants if number % 2 else served.bees
        everyone.wait(30)
        with served.client(token) as client:
            answers = [client.get("/api/recall", params={"query": "warm"}).json() for _ in range(10)]
        return [(number % 2, [hit["path"] for hit in answer["hits"]]) for answer in answers]

    with ThreadPoolExecutor(8) as pool:
        found = [one for many in pool.map(ask, range(8)) for one in many]

    assert len(found) == 80
    assert {(one, tuple(paths)) for one, paths in found} == {(1, ("topics/hill.md",)), (0, ("topics/hive.md",))}


def test_what_another_tenant_published_is_neither_copied_nor_taken_back(served: Served, owner_dsn: str) -> None:
    nonce, same = "00112233445566ff", "ffeeddccbbaa9988"
    record = json.dumps({"person": "ant@example.org", "publication": {}})  # even by somebody of the same name
    files = {"topics/hive.md": b"# Hive\n\n- It is warm.\n", f"published/{nonce}.json": record.encode()}
    outbox = Outbox(served.database, Repositories(served.settings.repositories))
    outbox.accept(find_tenant(owner_dsn, served.bees_name).id, lambda _: files, "Publish")

    with served.client(served.ants) as ant, served.client(served.bees) as bee:
        copies = [client.get("/api/copy").json()["files"] for client in (ant, bee)]
        forbidden, missing = (ant.post("/api/revoke", json={"nonce": one}) for one in (nonce, same))
        published = ant.post("/api/publish", json={"tenant": 1, "team": "http://team.test"})

    assert [list(one) for one in copies] == [[], ["topics/hive.md"]]
    assert forbidden.status_code == missing.status_code == 404
    assert forbidden.text.replace(nonce, same) == missing.text
    assert published.json()["error"]["what"] == "the body is no publication"


def test_a_broken_repository_is_told_without_where_it_lies(served: Served, owner_dsn: str) -> None:
    tenant = create_tenant(owner_dsn, "broken").id
    outbox = Outbox(served.database, Repositories(served.settings.repositories))
    outbox.accept(tenant, lambda _: {"topics/a.md": b"# A\n"}, "Publish")
    folder = outbox.repositories.find(tenant).folder
    asked = ["git", "--git-dir", str(folder), "rev-parse", "HEAD^{tree}"]
    tree = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    (folder / "objects" / tree[:2] / tree[2:]).unlink()

    with served.client(create_token(owner_dsn, "broken", "ada", ["read"], 1)) as client:
        answer = client.get("/api/copy")

    assert (answer.status_code, answer.json()["error"]["kind"]) == (503, "Unavailable")
    assert str(folder) not in answer.text and "git" not in answer.text


@pytest.mark.parametrize(("method", "path"), [("POST", "/api/publish"), ("POST", "/api/revoke"), ("GET", "/api/copy")])
def test_each_right_opens_its_own_routes(served: Served, owner_dsn: str, method: str, path: str) -> None:
    rights = {"POST": "read", "GET": "publish"}  # the other one than is needed
    token = create_token(owner_dsn, served.ants_name, "ada", [rights[method]], 1)

    with served.client(token) as client:
        answer = client.request(method, path, json={"nonce": "00112233445566ff"} if method == "POST" else None)

    assert (answer.status_code, answer.json()["error"]["kind"]) == (403, "Forbidden")


def test_every_route_is_asked_here(served: Served) -> None:
    """A new route is to be added to these tests."""
    with served.client(served.ants) as client:
        paths = client.get("/openapi.json").json()["paths"]

    searches = {"/api/exact", "/api/recall", "/api/search"}
    reading = {"/api/read", "/api/status", "/api/topics", "/api/copy"}
    assert set(paths) == searches | reading | {"/api/publish", "/api/revoke", "/health", "/ready"}
