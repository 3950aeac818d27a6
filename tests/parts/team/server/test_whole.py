"""Whole processes of `oneiros-team serve` over one database, with the real door behind them."""

import contextlib
import json
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from memory_server.document import Answer
from memory_server.faces.answer_text import answer_json
from memory_server.search.question import parse_query
from parts.team.access.tokens import create_token
from parts.team.memory import TeamMemory
from parts.team.server.routes import SEARCHES
from parts.team.tenants import create_tenant
from tests.parts.team.serving import Process, served_process

pytestmark = pytest.mark.team

QUESTIONS = ("who pays wages", "mail relay port", "backup server")


@pytest.fixture(scope="module")
def processes(app_dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Process]]:
    """Two servers that know of each other nothing but the database."""
    payload = {"dsn": app_dsn, "listen": "127.0.0.1:0", "questions_a_minute": "100000"}
    with contextlib.ExitStack() as stack:
        folders = [str(tmp_path_factory.mktemp("server")) for _ in range(2)]
        yield [stack.enter_context(served_process(**payload, folder=folder)) for folder in folders]


@pytest.fixture(scope="module")
def token(owner_dsn: str, garden_tenant: int) -> str:
    return create_token(owner_dsn, "garden", "ada", ["read"], 1)


def ask_server(url: str, token: str, question: str) -> httpx.Response:
    headers = {"authorization": f"Bearer {token}"}
    return httpx.get(f"{url}/api/recall", params={"query": question}, headers=headers, timeout=60)


def test_every_process_gives_the_answer_of_the_door(
    processes: list[Process], token: str, team: TeamMemory, garden_tenant: int
) -> None:
    for question in QUESTIONS:
        expected: Answer = team.search(garden_tenant, parse_query(question)).answer
        for one in processes:
            found = ask_server(one.url, token, question).json()
            assert found["hits"] == answer_json(expected)["hits"]
            assert (found["commit"], found["is_current"]) == ("c0ffee", found["head"] == "c0ffee")


def test_another_tenant_finds_nothing_of_it_in_any_process(
    processes: list[Process], owner_dsn: str, token: str
) -> None:
    create_tenant(owner_dsn, "wasps")
    wasp = create_token(owner_dsn, "wasps", "eve", ["read"], 1)
    path = ask_server(processes[0].url, token, "mail relay port").json()["hits"][0]["path"]

    for one in processes:
        headers = {"authorization": f"Bearer {wasp}"}
        assert [ask_server(one.url, wasp, question).json()["hits"] for question in QUESTIONS] == [[]] * len(QUESTIONS)
        there = httpx.get(f"{one.url}/api/read", params={"name": path}, headers=headers)
        nowhere = httpx.get(f"{one.url}/api/read", params={"name": "topics/no.md"}, headers=headers)
        assert there.status_code == nowhere.status_code == 404
        assert there.text.replace(path, "topics/no.md") == nowhere.text
        assert httpx.get(f"{one.url}/api/topics", headers=headers).json() == {"topics": []}
        assert httpx.get(f"{one.url}/api/status", headers=headers).json()["sources"] == 0


def test_whatever_a_process_has_begun_arrives_when_it_is_told_to_end(
    processes: list[Process], token: str, owner_dsn: str, garden_tenant: int
) -> None:
    ending, staying = processes
    begun, own = threading.Semaphore(0), create_token(owner_dsn, "garden", "bob", ["read"], 1)

    def ask(number: int) -> int:
        answered = 0
        with httpx.Client(headers={"authorization": f"Bearer {own}"}, timeout=60) as client:
            while True:
                try:
                    answer = client.get(f"{ending.url}/api/recall", params={"query": QUESTIONS[number % 3]})
                except httpx.ConnectError:
                    return answered
                except httpx.TransportError:
                    continue  # sent to a connection that was being closed, and never taken
                assert answer.status_code == 200
                assert answer.json()["hits"]
                answered += 1
                begun.release()

    with ThreadPoolExecutor(4) as pool:
        asking = [pool.submit(ask, number) for number in range(4)]
        for _ in range(20):
            assert begun.acquire(timeout=60)
        ending.process.send_signal(signal.SIGTERM)
        answered = sum(one.result() for one in asking)

    assert ending.process.wait(60) in (0, -signal.SIGTERM)
    ending.reading.join()
    logged = [json.loads(line) for line in ending.log]
    begun_there = [line for line in logged if "GET /api/recall" in line.get("says", "")]
    assert len([line for line in begun_there if line["person"] == "bob"]) == answered >= 20  # others asked before
    assert all("GET /api/recall 200" in line["says"] for line in begun_there)
    assert ask_server(staying.url, token, QUESTIONS[0]).status_code == 200
    assert not [line for line in logged if line["level"] == "error"]


HOSTILE = ("\0", "a\0b", "\ud800", "\U0010ffff", "9" * 5_000, "x" * 100_000, "%s %(a)s", "'; drop table passage; --")


@pytest.mark.parametrize("text", HOSTILE, ids=[ascii(text)[:12] for text in HOSTILE])
def test_text_that_no_database_can_hold_is_answered_or_refused_in_a_sentence(
    processes: list[Process], token: str, text: str
) -> None:
    asks = [("search_exact", {"query": text}), ("recall", {"query": f'warm topic:"{text}"', "project": text})]
    asks += [("search_memory", {"query": text}), ("read_memory", {"name": text})]
    headers = {"authorization": f"Bearer {token}", "accept": "application/json", "content-type": "application/json"}
    with httpx.Client(base_url=processes[-1].url, headers=headers, timeout=60) as client:
        sent: list[tuple[str, object]] = [(f"/api/{name}", {"query": text, "topic": text}) for name in SEARCHES]
        called = [{"name": name, "arguments": arguments} for name, arguments in asks]
        sent += [("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": one}) for one in called]
        answers = [client.post(path, content=json.dumps(body)) for path, body in sent]
        answers.append(client.get("/api/read", params={"name": text.encode("utf-8", "replace").decode()[:2_000]}))

    failed = [answer.text for answer in answers if answer.status_code >= 500 or "Error executing" in answer.text]
    assert failed == []
