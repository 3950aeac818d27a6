"""Who says nothing, or too little, holds up nobody: against a server of the daemon on a socket of the test."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import pytest

from memory_server.faces import connections
from memory_server.faces.guard import Guard
from oneiros.daemon.http_service import build_server

TOKEN = "a-token-of-the-test"
FOR_ALL = b"POST /page/open HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"
LONG = 50_000  # bytes of an answer that anybody may ask for
REQUEST = f"POST /x HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 2\r\n\r\n".encode()
HALVES = {
    "nothing": b"",
    "half a header": b"POST /x HTTP/1.1\r\nHost: loc",
    "no body": REQUEST,
    "no token and no body": b"POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n",
    "no body for all": b"POST /page/open HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n",
}

Scenario = Callable[[Callable[[], Awaitable["Client"]], asyncio.Event], Awaitable[None]]


class Client:
    """One connection to the server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        self.reader, self.writer = reader, writer

    async def status(self) -> str:
        """The first line of the next answer."""
        return (await self.reader.readline()).decode().strip()

    async def rest(self) -> bytes:
        """What comes until the server ends the connection."""
        try:
            return await self.reader.read()
        except ConnectionResetError:
            return b""


def run(scenario: Scenario) -> None:
    """Plays a scenario against a server whose answers wait for an event, which is set unless the scenario clears it."""

    async def play() -> None:
        go, end = asyncio.Event(), asyncio.Event()
        go.set()

        async def app(scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
            await go.wait()
            body = bytes(LONG if is_open("", scope["path"]) else 0)
            length = (b"content-length", str(len(body)).encode())
            await send({"type": "http.response.start", "status": 200, "headers": [length]})
            await send({"type": "http.response.body", "body": body})

        def is_open(_: str, path: str) -> bool:
            return path == "/page/open"

        guard = Guard(app, TOKEN, lambda scope: scope["state"]["let_through"](), is_open=is_open)
        with socket.create_server(("127.0.0.1", 0)) as listening:
            port = listening.getsockname()[1]
            serving = asyncio.create_task(build_server(guard, end).serve([listening]))
            opened: list[Client] = []

            async def connected() -> Client:
                opened.append(Client(*await asyncio.open_connection("127.0.0.1", port)))
                return opened[-1]

            await scenario(connected, go)
            for client in opened:
                client.writer.close()
            end.set()
            await serving

    asyncio.run(asyncio.wait_for(play(), 60))


@pytest.mark.parametrize("sent", HALVES.values(), ids=HALVES)
def test_half_a_request_is_cut_off(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.05)

    async def scenario(connected: Callable[[], Awaitable[Client]], _: asyncio.Event) -> None:
        client = await connected()
        client.writer.write(sent)
        assert await client.rest() == b""

    run(scenario)


def test_half_of_a_second_request_is_cut_off_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "KEEP_ALIVE_SECONDS", 0.05)

    async def scenario(connected: Callable[[], Awaitable[Client]], _: asyncio.Event) -> None:
        client = await connected()
        client.writer.write(REQUEST + b"{}" + HALVES["half a header"])
        assert await client.status() == "HTTP/1.1 200 OK"
        assert await client.rest() == b"content-length: 0\r\n\r\n"

    run(scenario)


@pytest.mark.parametrize("sent", HALVES.values(), ids=HALVES)
def test_where_all_room_is_taken_the_oldest_half_goes_and_an_answer_under_way_stays(
    sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections.HttpConnection, "room", 3)

    async def scenario(connected: Callable[[], Awaitable[Client]], go: asyncio.Event) -> None:
        go.clear()
        asking = await connected()
        asking.writer.write(REQUEST + b"{}")
        for _ in range(20):
            (await connected()).writer.write(sent)
        late = await connected()
        late.writer.write(REQUEST + b"{}")
        go.set()

        assert [await asking.status(), await late.status()] == ["HTTP/1.1 200 OK"] * 2

    run(scenario)


def test_who_asks_for_what_is_open_to_all_and_reads_no_answer_makes_room_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections.HttpConnection, "room", 3)

    async def scenario(connected: Callable[[], Awaitable[Client]], __: asyncio.Event) -> None:
        for _ in range(6):
            deaf = await connected()
            deaf.writer.write(FOR_ALL * 400)  # of 20 MB of answers no system takes more than a part off the server
            await deaf.reader.readexactly(LONG)
        asking = await connected()
        asking.writer.write(REQUEST + b"{}")

        assert await asking.status() == "HTTP/1.1 200 OK"

    run(scenario)


def test_who_reads_no_answer_to_what_is_open_to_all_is_cut_off_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "KEEP_ALIVE_SECONDS", 0.5)
    cut_off, ends = asyncio.Queue[connections.HttpConnection](), connections.HttpConnection.cut_off

    def noted(one: connections.HttpConnection) -> None:
        ends(one)
        cut_off.put_nowait(one)

    monkeypatch.setattr(connections.HttpConnection, "cut_off", noted)

    async def scenario(connected: Callable[[], Awaitable[Client]], _: asyncio.Event) -> None:
        deaf = await connected()
        deaf.writer.write(FOR_ALL * 400)

        assert (await asyncio.wait_for(cut_off.get(), 20)).transport.is_closing()

    run(scenario)
