"""HTTP in the daemon: REST and streamable-HTTP MCP behind one guard, on the private socket and the loopback address.

Each of the two has a server of its own, so that other accounts, which reach the second alone, can take nothing from
the first. Their connections are those of `http_connections.py`.
"""

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import anyio
import uvicorn
from fastapi import FastAPI
from fastapi.responses import PlainTextResponse
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import Field

from dream.decisions.accept import Decisions
from dream.decisions.page import PageSessions
from dream.decisions.signing import PasskeyDesk
from dream.passkey_routes import add_passkey_routes
from dream.routes import add_routes
from memory_server.faces.guard import MAX_BODY_BYTES, Guard
from memory_server.faces.rest import Body, create_api
from oneiros.daemon.http_connections import KEEP_ALIVE_SECONDS, HttpConnection
from oneiros.daemon.parts import Parts
from oneiros.daemon.sockets import write_state
from oneiros.daemon.standing import standing
from oneiros.dreaming import decisions_on
from oneiros.environment import now, program_version

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
        await self.on_tick(0)  # sets the headers of every answer
        await self._end.wait()


async def serve_http(parts: Parts) -> None:
    """Serves until the daemon is told to end."""
    pages = PageSessions(now)
    app = create_app(parts, pages)

    def let_through(state: Mapping[str, Any]) -> None:
        state["let_through"]()
        parts.activity.note()

    guarded = Guard(app, parts.sockets.token, let_through, pages.holds)
    loopback = _loopback_socket(parts.memory.person.http_port)
    write_state(parts.sockets.state, port=loopback.getsockname()[1], version=program_version())
    try:
        async with app.router.lifespan_context(app), anyio.create_task_group() as tasks:
            for listening in (parts.sockets.http, loopback):
                tasks.start_soon(server_of(guarded, parts.ending.told).serve, [listening])
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


def create_app(parts: Parts, pages: PageSessions) -> FastAPI:
    """REST with MCP at `/mcp` beside it; without the guard."""
    memory, indexer, ending = parts.memory, parts.indexer, parts.ending
    api = create_api(memory, indexer, program_version(), on_stop=ending.told.set, on_restart=ending.restart)

    @api.get("/api/standing")
    def how_it_stands() -> dict[str, Any]:
        """The status of the memory with what is not archived yet, the daemon's jobs and what hooks have cost."""
        return standing(parts.environment, memory)

    @api.post("/api/hook/output", response_class=PlainTextResponse)
    def hook(told: Hook) -> PlainTextResponse:
        """Takes note of an event of the client: what its hook prints, and nothing else."""
        return PlainTextResponse(parts.hooks.answer(told.event, told.told))

    def bring_level() -> None:
        indexer.wait(indexer.poke(), LEVEL_SECONDS)

    def decisions() -> Decisions:
        return decisions_on(memory.root, memory.person, bring_level)

    add_routes(api, decisions, pages)
    add_passkey_routes(api, decisions, pages, PasskeyDesk(now), lambda: memory.person.http_port)
    # the guard has checked Host and Origin of every route, also of this one
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    served = parts.mcp.streamable_http_app(
        json_response=True, stateless_http=True, transport_security=security, max_request_body_size=MAX_BODY_BYTES
    )
    api.router.routes.extend(served.routes)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with parts.mcp.session_manager.run():
            yield

    api.router.lifespan_context = lifespan
    return api


class Hook(Body):
    """What a hook was told by its client."""

    event: str = Field("", max_length=100)
    client_pid: str = Field("", max_length=20)
    input: Any = None

    @property
    def told(self) -> Any:
        """The client's own input, with the number of its process."""
        return {**self.input, "client_pid": self.client_pid} if isinstance(self.input, dict) else self.input


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
