"""One tenant at every route of the other: no row, and no error that tells a thing of the other from one that is not."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import httpx
import pytest
from fastapi.routing import APIRoute

from team.access.quotas import Quotas
from team.server.desk import Desk
from team.server.metrics import Metrics
from team.server.routes import create_api
from tests.team.server.conftest import Served, Standin
from tests.team.server.test_mcp import Mode, tool

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
    told = ("date", "x-request-id")
    assert [one for one in forbidden.headers.items() if one[0] not in told] == [
        one for one in missing.headers.items() if one[0] not in told
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


def test_every_route_is_asked_here() -> None:
    """A new route is to be added to these tests."""
    api = create_api(Desk(Standin({}), cast(Quotas, None), Metrics()), "1.0")

    assert sorted({route.path for route in api.routes if isinstance(route, APIRoute)}) == [
        "/api/exact",
        "/api/read",
        "/api/recall",
        "/api/search",
        "/api/status",
        "/api/topics",
    ]
