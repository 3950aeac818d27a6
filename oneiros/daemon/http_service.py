"""HTTP in the daemon: REST and streamable-HTTP MCP behind one guard, on the private socket and the loopback address.

Each of the two has a server of its own, so that other accounts, which reach the second alone, can take nothing from
the first. Their connections are those of `http_connections.py`.
"""

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

import anyio
import uvicorn
from fastapi import FastAPI
from mcp.server import MCPServer
from mcp.server.transport_security import TransportSecuritySettings

from dream.decisions.accept import Decisions
from dream.decisions.presence import PageSessions
from dream.routes import add_routes
from memory_server.faces.guard import MAX_BODY_BYTES, Guard
from memory_server.faces.indexing import Indexing
from memory_server.faces.rest import create_api
from memory_server.memory import Memory
from oneiros.daemon.http_connections import KEEP_ALIVE_SECONDS, HttpConnection
from oneiros.dreaming import decisions_on
from oneiros.environment import now, program_version
from oneiros.hooks.routes import add_hook_routes

logger = logging.getLogger(__name__)

BACKLOG = 64  # connections taken at a time, before the first of them is counted
LEVEL_SECONDS = 20.0  # how long a decision waits until it can be searched for


class QuietServer(uvicorn.Server):
    """A server that leaves the signals to the daemon, and sleeps until it is told to end."""

    def __init__(self, config: uvicorn.Config, end: asyncio.Event):
        super().__init__(config)
        self._end = end

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def main_loop(self) -> None:
        await self.on_tick(0)  # settles the headers of every answer
        await self._end.wait()


async def serve_http(
    memory: Memory,
    indexing: Indexing,
    mcp: MCPServer[Any],
    local: socket.socket,
    token: str,
    *,
    end: asyncio.Event,
    on_request: Callable[[], None],
    on_restart: Callable[[], None],
    on_port: Callable[[int], None],
    on_hook: Callable[[str, object], str],
    standing: Callable[[], dict[str, Any]],
) -> None:
    """Serves until `end` is set. `local`: the listening socket of the clients on this machine."""
    pages = PageSessions(now)
    app = create_app(memory, indexing, mcp, on_stop=end.set, on_restart=on_restart, on_hook=on_hook, pages=pages)

    @app.get("/api/standing")
    def how_it_stands() -> dict[str, Any]:
        """The status of the memory with what is not archived yet, the daemon's jobs and what hooks have cost."""
        return standing()

    def let_through(state: Mapping[str, Any]) -> None:
        state["let_through"]()
        on_request()

    guarded = Guard(app, token, let_through, pages.holds)
    loopback = _loopback_socket(memory.person.http_port)
    on_port(loopback.getsockname()[1])
    try:
        async with app.router.lifespan_context(app), anyio.create_task_group() as tasks:
            for listening in (local, loopback):
                tasks.start_soon(server_of(guarded, end).serve, [listening])
    finally:
        loopback.close()


def server_of(app: Guard, end: asyncio.Event) -> QuietServer:
    """The server of one listening socket, until `end` is set."""
    config = uvicorn.Config(
        app,
        http=HttpConnection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=3,
    )
    return QuietServer(config, end)


def create_app(
    memory: Memory,
    indexing: Indexing,
    mcp: MCPServer[Any],
    *,
    on_stop: Callable[[], None] = lambda: None,
    on_restart: Callable[[], None] = lambda: None,
    on_hook: Callable[[str, object], str] = lambda *_: "",
    pages: PageSessions | None = None,
) -> FastAPI:
    """REST with MCP at `/mcp` beside it; without the guard."""

    def decisions() -> Decisions:
        return decisions_on(memory.root, memory.person, lambda: _level(indexing))

    api = create_api(memory, indexing, program_version(), on_stop=on_stop, on_restart=on_restart)
    add_hook_routes(api, on_hook)
    add_routes(api, decisions, pages or PageSessions(now))
    # the guard has checked Host and Origin of every route, also of this one
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    served = mcp.streamable_http_app(
        json_response=True, stateless_http=True, transport_security=security, max_request_body_size=MAX_BODY_BYTES
    )
    api.router.routes.extend(served.routes)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with mcp.session_manager.run():
            yield

    api.router.lifespan_context = lifespan
    return api


def _level(indexing: Indexing) -> None:
    indexing.wait(indexing.poke(), LEVEL_SECONDS)


def _loopback_socket(port: int) -> socket.socket:
    """A socket of this machine alone; on any free port where the wished one is taken."""
    for wished in dict.fromkeys((port, 0)):
        opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            opened.bind(("127.0.0.1", wished))
        except OSError as error:
            opened.close()
            logger.warning("port %d cannot be had (%s); taking a free one", wished, error.strerror)
            continue
        opened.listen(128)
        return opened
    raise OSError("no port of the loopback address can be had")
