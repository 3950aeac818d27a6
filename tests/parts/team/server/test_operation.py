"""What operators see: readiness, figures, logs; and how a server ends."""

import contextlib
import io
import json
import logging
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import cast

import httpx
import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from memory_server.embedding.engine import ModelInUse
from parts.team.errors import Unfit
from parts.team.server.app import bound, serve
from parts.team.server.logs import Lines, configure_logs
from parts.team.settings import TeamSettings
from tests.parts.team.server.conftest import Served, Start
from tests.parts.team.server.test_mcp import tool
from tests.system.house import wait_until

pytestmark = pytest.mark.team

ASKED = 9  # requests at least, of which the log has a line: six of a client, and one or more of each tool


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """What the process logs, as a server's does."""
    root, before = logging.getLogger(), (logging.getLogger().handlers[:], logging.getLogger().level)
    configure_logs()
    stream = io.StringIO()
    (handler,) = root.handlers
    assert isinstance(handler, logging.StreamHandler)
    handler.setStream(stream)
    yield stream
    root.handlers[:], root.level = before
    logging.getLogger("team").setLevel(logging.NOTSET)


def test_the_log_has_who_and_where_and_no_word_of_a_memory(served: Served, logged: io.StringIO) -> None:
    def broken() -> None:
        raise ValueError("the hill is warm")

    with served.client(served.ants) as client:
        client.get("/api/recall", params={"query": "warm"}, headers={"x-hill": "warm"})
        client.get("/api/read", params={"name": "topics/warm.md"})
        client.post("/api/exact", json={"query": "warm", "warm": "warm"})
        client.get("/warm/warm")
        client.post("/mcp", content=b'{"warm": ', headers={"content-type": "application/json"})
        tool(served, served.ants, "recall", query="warm", warm="warm")
        tool(served, served.ants, "warm", query="warm")
        served.memory.before = broken
        client.get("/api/recall", params={"query": "warm"})
        tool(served, served.ants, "recall", query="warm")
    logging.getLogger("a.library").warning("what it was given: %s", "the hill is warm")

    # an answer arrives before its lines are written
    wait_until(lambda: logged.getvalue().count('"person"') >= ASKED and "ValueError" in logged.getvalue())
    lines = [json.loads(line) for line in logged.getvalue().splitlines()]
    assert "warm" not in logged.getvalue()
    assert served.ants not in logged.getvalue()
    first = next(line for line in lines if line.get("says", "").startswith("GET /api/recall 200, "))
    assert (first["person"], first["from"], first["level"]) == ("ant@example.org", "team.server.entrance", "info")
    assert first["tenant"] in served.memory.files
    assert any(line.get("error") == "ValueError" and line["through"] for line in lines)
    [of_library] = [line for line in lines if line["from"] == "a.library"]
    assert "says" not in of_library


def test_a_line_of_the_log_is_one_line_whatever_it_holds() -> None:
    record = logging.LogRecord("parts.team.x", logging.INFO, "x.py", 1, "GET %s", ('a\n{"forged": 1}',), None)

    assert "\n" not in Lines().format(record)


def test_figures_tell_routes_and_outcomes_and_nobodys_name(served: Served) -> None:
    with served.client(served.ants) as client, served.client() as stranger:
        client.get("/api/recall", params={"query": "warm"})
        client.get("/api/read", params={"name": "nothing"})
        client.get("/no/such/warm")
        stranger.get("/api/recall")
    tool(served, served.ants, "recall", query="warm")

    figures = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(generate_latest(served.metrics.registry).decode())
        for sample in family.samples
    }

    assert figures["oneiros_team_questions_total", "recall", "answered"] == 2
    assert figures["oneiros_team_questions_total", "read", "NotFound"] == 1
    assert figures["oneiros_team_request_seconds_count", "/api/recall", "200"] == 1
    assert figures["oneiros_team_request_seconds_count", "/mcp", "200"] >= 1
    assert figures["oneiros_team_request_seconds_count", "none", "401"] == 1
    assert figures["oneiros_team_request_seconds_count", "none", "404"] == 1
    assert not [name for name in figures if "warm" in str(name) or "ant" in str(name)]


def test_a_server_without_its_database_lives_but_is_not_ready(served: Served) -> None:
    served.database.close()

    with served.client(served.ants) as client:
        health, ready, answer = client.get("/health"), client.get("/ready"), client.get("/api/topics")

    assert (health.status_code, ready.status_code, answer.status_code) == (200, 503, 503)
    assert ready.json() == {"ready": False}
    assert answer.json()["error"]["what"] == "the database does not answer"


@contextlib.contextmanager
def under_way(served: Served) -> Iterator[tuple["Future[httpx.Response]", httpx.Client]]:
    """A question that the memory has begun to answer, and goes on with at the end; a client beside it."""
    begun, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        assert go_on.wait(30)

    served.memory.before = wait
    with ThreadPoolExecutor(1) as pool, served.client(served.ants) as client:
        first = pool.submit(httpx.get, f"{served.url}/api/recall?query=warm", headers=client.headers, timeout=30)
        assert begun.wait(30)
        yield first, client
        go_on.set()


def test_more_requests_than_may_be_are_sent_away_at_once(start: Start) -> None:
    served = start(most_requests=1)
    with under_way(served) as (first, client):
        second = client.get("/api/recall?query=warm")
        health = client.get("/health")

    assert (second.status_code, second.headers["retry-after"], health.status_code) == (503, "1", 200)
    assert first.result().status_code == 200


def test_a_server_that_ends_answers_what_it_has_begun(start: Start) -> None:
    served = start()
    with under_way(served) as (first, _):
        served.tell_to_end()
        with pytest.raises(httpx.TransportError):
            while True:  # until nobody listens
                httpx.get(f"{served.url}/health", timeout=30)

    assert first.result().status_code == 200
    assert "the hill is warm" in first.result().text


@pytest.mark.parametrize("listen", ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"])
def test_nothing_listens_beyond_the_machine_without_tls(listen: str) -> None:
    with pytest.raises(Unfit, match="has no TLS"):
        bound(TeamSettings(listen=listen))


def test_a_proxy_that_brings_tls_must_be_named() -> None:
    with bound(replace(TeamSettings(), listen="0.0.0.0:0", proxy_has_tls=True)) as listening:
        assert listening.getsockname()[0] == "0.0.0.0"


@pytest.mark.parametrize("listen", ["localhost:8420", "8420", "127.0.0.1", "127.0.0.1:x", ""])
def test_an_address_that_is_none_is_said_to_be_none(listen: str) -> None:
    with pytest.raises(Unfit, match="is no address"):
        bound(TeamSettings(listen=listen))


def test_an_address_that_is_taken_is_one_sentence() -> None:
    with bound(TeamSettings(listen="127.0.0.1:0")) as taken:
        settings = TeamSettings(listen=f"127.0.0.1:{taken.getsockname()[1]}")

        with pytest.raises(Unfit, match=r"cannot start .*Address already in use"):
            serve(settings, cast(ModelInUse, None), "1.0")
