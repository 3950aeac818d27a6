"""Who is let in, by what names, and how many may knock; without a model."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from trainer.errors import NeedsRepair, UsageError
from trainer.serving import connections
from trainer.serving.connections import Connection
from trainer.serving.guard import Guard, check_binding, read_token
from trainer.serving.names import check_base, check_run

TOKEN = "token-of-16-signs"


@pytest.mark.parametrize(
    ("listens_on", "host", "origin", "status"),
    [
        ("127.0.0.1", "10.0.0.5:3011", "", 421),
        ("10.0.0.5", "10.0.0.5:3011", "", 200),
        ("0.0.0.0", "10.0.0.5:3011", "", 200),
        ("0.0.0.0", "[fd00::5]:3011", "", 200),
        ("0.0.0.0", "10.0.0.5:3011", "http://10.0.0.5:3011", 200),
        ("0.0.0.0", "10.0.0.5:3011", "http://10.0.0.6", 403),
        ("0.0.0.0", "rebound.example:3011", "", 421),
        ("0.0.0.0", "desk.example:3011", "", 200),
    ],
)
def test_where_it_listens_everywhere_it_is_reached_by_any_address_and_by_the_names_it_was_given(
    listens_on: str, host: str, origin: str, status: int
) -> None:
    async def home(request: Request) -> PlainTextResponse:
        return PlainTextResponse("here")

    routes = Starlette(routes=[Route("/", home)])
    guarded = Guard(routes, TOKEN, frozenset({listens_on, "desk.example"}))
    client = TestClient(guarded, headers={"Authorization": f"Bearer {TOKEN}"})

    assert client.get("/", headers={"Host": host} | ({"Origin": origin} if origin else {})).status_code == status


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("Host", ("127.0.0.1", "127.0.0.1")),
        ("Host", ("127.0.0.1", "evil.example")),
        ("Authorization", ("Bearer wrong", f"Bearer {TOKEN}")),
        ("Origin", ("https://evil.example", "http://127.0.0.1")),
        ("Content-Length", ("5", "0")),
        ("Transfer-Encoding", ("chunked", "identity")),
    ],
)
def test_a_header_that_decides_something_may_be_sent_once(name: str, values: tuple[str, str]) -> None:
    others = [("Host", "127.0.0.1"), ("Authorization", f"Bearer {TOKEN}")]
    sent = [(key, value) for key, value in others if key != name] + [(name, value) for value in values]

    assert status_of(sent) == 400


def test_a_length_and_chunks_together_are_refused() -> None:
    sent = [("Host", "127.0.0.1"), ("Authorization", f"Bearer {TOKEN}")]

    assert status_of(sent) == 200
    assert status_of([*sent, ("Content-Length", "0"), ("Transfer-Encoding", "chunked")]) == 400


def status_of(headers: list[tuple[str, str]]) -> int:
    """What the guard answers to a request with these headers, as a server hands them over."""
    sent: list[MutableMapping[str, Any]] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "path": "/status",
        "headers": [(name.lower().encode(), value.encode()) for name, value in headers],
    }
    asyncio.run(Guard(answer_all, TOKEN, frozenset())(scope, no_body, send))
    return int(sent[0]["status"])


async def answer_all(scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
    """An application that answers whatever comes, once it has come whole."""
    if scope["type"] == "http":
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})


async def no_body() -> MutableMapping[str, Any]:
    return {"type": "http.request", "body": b""}


def test_binding_elsewhere_needs_a_real_token(tmp_path: Path) -> None:
    check_binding("127.0.0.1", "")
    check_binding("0.0.0.0", "a-token-that-is-long")
    with pytest.raises(UsageError, match=r"binding to 0.0.0.0 needs a token"):
        check_binding("0.0.0.0", "short")

    assert read_token(tmp_path / "token") == read_token(tmp_path / "token")
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600

    (tmp_path / "token").write_text("\n", encoding="utf-8")
    with pytest.raises(NeedsRepair, match="the token file is empty"):
        read_token(tmp_path / "token")


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o602])
def test_a_token_that_others_can_read_or_change_is_not_used(mode: int, tmp_path: Path) -> None:
    read_token(tmp_path / "token")
    (tmp_path / "token").chmod(mode)

    with pytest.raises(NeedsRepair, match="others can read or change the token file"):
        read_token(tmp_path / "token")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_token_that_belongs_to_another_account_is_not_used(tmp_path: Path) -> None:
    read_token(tmp_path / "token")
    os.chown(tmp_path / "token", 12_345, 12_345)

    with pytest.raises(NeedsRepair, match="others can read or change the token file"):
        read_token(tmp_path / "token")


@pytest.mark.parametrize(
    "name",
    [
        "/etc",
        "..",
        "../models/own",
        "own/../../x",
        "~/own",
        "beside/me",
        "beside/me@main",
        "",
        ".",
        "own/",
        "http://x/y",
    ],
)
def test_no_name_of_a_base_leads_out_of_the_home(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "models" / "own").mkdir(parents=True)
    (tmp_path / "beside" / "me").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)

    for good in ("own", "smollm2-135m", "somebody/some-model", f"somebody/some-model@{'0' * 40}"):
        check_base(good, tmp_path / "models")
    with pytest.raises(UsageError, match="there is no base"):
        check_base(name, tmp_path / "models")


@pytest.mark.parametrize("name", ["../run-1", "/run-1", "a/b", ".", "..", "-x", "x" * 65])
def test_no_name_of_a_run_leads_out_of_its_folder(name: str) -> None:
    with pytest.raises(UsageError, match="is no name of a run"):
        check_run(name)


REQUEST = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n"
Client = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def against_a_server(scenario: Callable[[Callable[[], Awaitable[Client]]], Awaitable[None]]) -> None:
    """Plays a scenario with connections to a server of this process."""

    async def play() -> None:
        with socket.create_server(("127.0.0.1", 0), backlog=256) as listening:
            server = uvicorn.Server(uvicorn.Config(answer_all, http=Connection, ws="none", log_level="error"))
            serving = asyncio.create_task(server.serve([listening]))
            opened: list[Client] = []

            async def connected() -> Client:
                opened.append(await asyncio.open_connection("127.0.0.1", listening.getsockname()[1]))
                return opened[-1]

            await scenario(connected)
            for _, writer in opened:
                writer.close()
            server.should_exit = True
            await serving

    asyncio.run(asyncio.wait_for(play(), 60))


@pytest.mark.parametrize("sent", [b"", REQUEST[:20], REQUEST, REQUEST + b"x", REQUEST + b"xx" + REQUEST[:20]])
def test_a_request_that_does_not_come_whole_is_cut_off(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.1)

    async def scenario(connected: Callable[[], Awaitable[Client]]) -> None:
        reader, writer = await connected()
        writer.write(sent)
        assert await ended(reader)

    against_a_server(scenario)


def test_whoever_asks_finds_room_among_many_that_say_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 5)

    async def scenario(connected: Callable[[], Awaitable[Client]]) -> None:
        silent = [await connected() for _ in range(20)]
        for reader, _ in silent[:15]:
            assert await ended(reader)

        reader, writer = await connected()
        writer.write(REQUEST + b"xx")

        assert (await reader.readline()).startswith(b"HTTP/1.1 200")

    against_a_server(scenario)


async def ended(reader: asyncio.StreamReader) -> bool:
    """Waits until the server ends a connection."""
    with suppress(ConnectionResetError):
        await reader.read()
    return True
