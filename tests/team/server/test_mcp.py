"""The tools, called by the SDK's own client in both eras of the protocol."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Literal

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import TextContent

from tests.team.server.conftest import COMMIT, Served, Start

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
    assert arguments == {"query", "limit", "per_source", "project", "name", "first", "last"}


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


def test_no_stream_stays_open(served: Served) -> None:
    told = {"protocolVersion": "2026-07-28", "clientInfo": {"name": "a", "version": "1"}, "clientCapabilities": {}}
    meta = {f"io.modelcontextprotocol/{key}": value for key, value in told.items()}
    listen = {"_meta": meta, "notifications": {"toolsListChanged": True}}
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
