"""The tools, called by the SDK's own client in both eras of the protocol."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, Literal

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import TextContent

from tests.parts.team.server.conftest import COMMIT, Served, Start

pytestmark = pytest.mark.team

Mode = Literal["auto", "legacy"]


def called(served: Served, token: str, mode: Mode, asks: Callable[[Client], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        headers = {"authorization": f"Bearer {token}"}
        http = httpx2.AsyncClient(headers=headers, timeout=30)
        async with http, Client(streamable_http_client(f"{served.url}/mcp", http_client=http), mode=mode) as client:
            return await asks(client)

    return asyncio.run(run())


def tool(served: Served, token: str, name: str, mode: Mode = "auto", /, **arguments: Any) -> tuple[bool, str]:
    """Whether the tool says that it failed, and its text."""
    result = called(served, token, mode, lambda client: client.call_tool(name, arguments))
    (content,) = result.content
    assert isinstance(content, TextContent)
    return bool(result.is_error), content.text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_finds_what_its_own_team_knows(served: Served, mode: Mode) -> None:
    failed, text = tool(served, served.ants, "recall", mode, query="warm")

    assert not failed
    assert "the hill is warm" in text
    assert "hive" not in text
    assert f"index at commit {COMMIT[:12]}" in text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_every_tool_is_listed_and_none_takes_a_tenant(served: Served, mode: Mode) -> None:
    listed = called(served, served.ants, mode, lambda client: client.list_tools())

    assert {one.name for one in listed.tools} == {
        "recall",
        "search_memory",
        "search_exact",
        "read_memory",
        "memory_status",
    }
    arguments = {name for one in listed.tools for name in one.input_schema["properties"]}
    assert arguments == {"query", "limit", "per_source", "project", "name", "first", "last", "offset"}


def test_an_index_behind_the_repository_says_so(served: Served) -> None:
    served.memory.head = "beefbeefbeefbeef"

    _, text = tool(served, served.ants, "search_exact", query="warm")

    assert "older than beefbeefbeef" in text


def test_topics_are_listed_and_read(served: Served) -> None:
    _, listed = tool(served, served.ants, "read_memory")
    _, read = tool(served, served.ants, "read_memory", name="topics/hill.md")
    _, status = tool(served, served.ants, "memory_status")

    assert "hill | topics/hill.md" in listed
    assert "the hill is warm" in read
    assert "sources: 1" in status


def test_an_unknown_argument_is_refused_so_that_nobody_names_a_tenant_in_vain(served: Served) -> None:
    failed, text = tool(served, served.ants, "recall", query="warm", tenant=2)

    assert failed
    assert "There is no argument 'tenant'" in text
    assert served.memory.asked == []


def test_a_quota_is_said_as_a_sentence(start: Start) -> None:
    served = start(questions_a_minute=0)

    failed, text = tool(served, served.ants, "recall", query="warm")

    assert failed
    assert text.startswith("this token has asked its 0 questions of this minute. Ask again in")


NEWEST = {"protocolVersion": "2026-07-28", "clientInfo": {"name": "a", "version": "1"}, "clientCapabilities": {}}
META = {f"io.modelcontextprotocol/{key}": value for key, value in NEWEST.items()}


def test_no_stream_stays_open(served: Served) -> None:
    listen = {"_meta": META, "notifications": {"toolsListChanged": True}}
    headers = {
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "subscriptions/listen",
    }

    with served.client(served.ants) as client:
        stream = client.get("/mcp", headers={"accept": "text/event-stream"})
        body = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": listen}
        subscribed = client.post("/mcp", headers=headers, json=body)

    assert stream.status_code == 405
    assert subscribed.json()["error"]["code"] == -32601


CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
RECALL: dict[str, Any] = {"name": "recall", "arguments": {"query": "warm"}}
JSON = {"accept": "application/json", "content-type": "application/json"}
BAD_BODIES = {
    "no JSON": b'{"jsonrpc": ',
    "no text": b"\xff\xfe\x00",
    "a batch": json.dumps([CALL | {"params": RECALL}] * 2).encode(),
    "nothing": b"null",
    "too deep": b"[" * 200_000,
    "a number without end": b'{"jsonrpc":"2.0","method":"tools/list","id":' + b"9" * 5_000 + b"}",
    "half a letter": json.dumps(CALL | {"params": {"name": "recall", "arguments": {"query": "\ud800"}}}).encode(),
}


@pytest.mark.parametrize("body", BAD_BODIES.values(), ids=BAD_BODIES)
def test_what_is_no_call_is_refused_and_asks_nothing(served: Served, body: bytes) -> None:
    with served.client(served.ants) as client:
        answer = client.post("/mcp", content=body, headers=JSON)

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] < -32_000
    assert served.memory.asked == []


@pytest.mark.parametrize(
    "headers",
    [
        {"mcp-protocol-version": "1999-01-01"},
        {"mcp-protocol-version": "2025-11-25, 2026-07-28"},
        {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "memory_status"},
        {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list", "mcp-name": "recall"},
        {"accept": "text/html"},
        {"content-type": "text/plain"},
        {"origin": "https://evil.example.org"},
        {"origin": "null"},
    ],
)
def test_a_header_that_is_not_true_is_refused_and_asks_nothing(served: Served, headers: dict[str, str]) -> None:
    meta = {"_meta": META} if "mcp-method" in headers else {}
    with served.client(served.ants) as client:
        answer = client.post("/mcp", json=CALL | {"params": RECALL | meta}, headers=JSON | headers)

    assert answer.status_code in (400, 403, 406)
    assert served.memory.asked == []


def test_nothing_beside_the_token_changes_whose_memory_is_asked(served: Served) -> None:
    (number,) = (one for one in served.memory.files if "topics/hill.md" in served.memory.files[one])
    other = {"tenant": number + 1, "asker": {"tenant": number + 1}, "oneiros.asker": number + 1}
    headers = JSON | {"mcp-session-id": served.bees_name, "last-event-id": "1", "x-tenant": served.bees_name}

    with served.client(served.ants) as client:
        call = CALL | {"params": RECALL | other | {"_meta": other}} | other
        answer = client.post(f"/mcp?tenant={number + 1}", json=call, headers=headers)

    assert "the hill is warm" in answer.json()["result"]["content"][0]["text"]
    assert "mcp-session-id" not in answer.headers
    assert served.memory.asked == [(number, "warm")]


def test_two_tokens_in_a_request_are_not_chosen_from(served: Served) -> None:
    both = [("authorization", f"Bearer {token}") for token in (served.ants, served.bees)]

    answers = [httpx.get(f"{served.url}/api/topics", headers=order) for order in (both, both[::-1])]

    assert [answer.status_code for answer in answers] == [401, 401]


def test_no_answer_sends_a_token_elsewhere(served: Served) -> None:
    with served.client(served.ants) as client:
        answers = [client.post(path, json=CALL, headers={"host": "evil.example.org"}) for path in ("/mcp/", "/api/")]

    assert [(answer.status_code, answer.headers.get("location")) for answer in answers] == [(404, None)] * 2
