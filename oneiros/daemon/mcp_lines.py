"""MCP over a local socket: each connection is served by the SDK's own server over object streams, a line a message."""

import asyncio
import contextlib
import json
import logging
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from mcp.server import MCPServer
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCRequest, jsonrpc_message_adapter

logger = logging.getLogger(__name__)

MAX_LINE = 8 << 20  # bytes of one message
MAX_CONNECTIONS = 200
MAX_UNDER_WAY = 64  # requests of one client; beyond, its next lines wait in its socket
PARSE_ERROR = -32700
SEND_SECONDS = 30.0  # a client that does not read its answers for so long is cut off
END_SECONDS = 2.0  # for connections to end when the server does
LATE_SECONDS = 60.0  # answers under way when a client has closed its end


class LineServer:
    """Serves every connection of a listening socket."""

    def __init__(self, server: MCPServer[Any], on_request: Callable[[], None]):
        self._server = server
        self._on_request = on_request
        self._connections: set[LineConnection] = set()

    async def serve(self, listener: socket.socket) -> None:
        """Takes connections until it is cancelled, and ends them then."""
        started = await asyncio.start_unix_server(self._serve_one, sock=listener, limit=MAX_LINE)
        try:
            await asyncio.sleep(float("inf"))
        finally:
            started.close()
            with anyio.move_on_after(END_SECONDS, shield=True):
                await self._end_connections()

    async def _end_connections(self) -> None:
        """Lets each end by itself: one that asyncio cancels with its loop is reported as an error."""
        while self._connections:
            for connection in self._connections:
                connection.end()
            await asyncio.sleep(0.01)

    async def drain(self) -> None:
        """Waits until every request under way has its answer."""
        while any(connection.under_way for connection in self._connections):
            await asyncio.sleep(0.02)

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._connections) >= MAX_CONNECTIONS:
            logger.warning("more than %d clients; the newest is turned away", MAX_CONNECTIONS)
            writer.close()
            return
        connection = LineConnection(reader, writer, self._on_request)
        self._connections.add(connection)
        try:
            await connection.serve(self._server)
        finally:
            self._connections.discard(connection)
            writer.close()


class LineConnection:
    """One client."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, on_request: Callable[[], None]):
        self._reader = reader
        self._writer = writer
        self._on_request = on_request
        self.under_way: set[str] = set()
        self._answered = anyio.Event()
        self._scope = anyio.CancelScope()

    def end(self) -> None:
        """Ends it now, whatever is under way."""
        self._scope.cancel()

    async def serve(self, server: MCPServer[Any]) -> None:
        """Until the client closes its end and has its last answer, or it is ended."""
        with self._scope:
            await self._serve(server)

    async def _serve(self, server: MCPServer[Any]) -> None:
        to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        to_client, from_server = anyio.create_memory_object_stream[SessionMessage](0)
        lowlevel = server._lowlevel_server  # the public ways to it own stdin, or speak HTTP
        async with anyio.create_task_group() as tasks:

            async def write() -> None:
                async with from_server:
                    async for message in from_server:
                        await self._send(message.message.model_dump_json(by_alias=True, exclude_unset=True))
                        self._note_answer(message)
                tasks.cancel_scope.cancel()

            async def read() -> None:
                async with to_server:
                    await self._read(to_server.send)
                    with anyio.move_on_after(LATE_SECONDS):
                        await self._wait_until(lambda: not self.under_way)

            tasks.start_soon(write)
            tasks.start_soon(read)
            with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # it went in the middle
                await lowlevel.run(from_client, to_client, lowlevel.create_initialization_options())
            tasks.cancel_scope.cancel()

    async def _read(self, hand_on: Callable[[SessionMessage | Exception], Awaitable[None]]) -> None:
        while True:
            try:
                line = await self._reader.readline()
            except (ValueError, ConnectionError):  # longer than a line may be, or the client is gone
                return
            if not line.strip():
                if not line:
                    return
                continue
            self._on_request()
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                await self._send(_parse_error())
                continue
            await self._wait_until(lambda: len(self.under_way) < MAX_UNDER_WAY)
            if isinstance(message, JSONRPCRequest):
                self.under_way.add(json.dumps(message.id))
            elif getattr(message, "method", "") == "notifications/cancelled":
                self.under_way.discard(json.dumps((getattr(message, "params", None) or {}).get("requestId")))
            await hand_on(SessionMessage(message))

    async def _send(self, text: str) -> None:
        try:
            self._writer.write(text.encode() + b"\n")
            with anyio.fail_after(SEND_SECONDS):
                await self._writer.drain()
        except (ConnectionError, TimeoutError):
            self._writer.transport.abort()

    def _note_answer(self, message: SessionMessage) -> None:
        if not hasattr(message.message, "method"):
            self.under_way.discard(json.dumps(getattr(message.message, "id", None)))
            self._answered.set()

    async def _wait_until(self, is_true: Callable[[], bool]) -> None:
        while not is_true():
            self._answered = anyio.Event()
            await self._answered.wait()


def _parse_error() -> str:
    error = {"code": PARSE_ERROR, "message": "This line is no JSON-RPC message. Send one object a line."}
    return json.dumps({"jsonrpc": "2.0", "id": None, "error": error})
