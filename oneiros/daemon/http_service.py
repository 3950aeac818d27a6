"""HTTP in the daemon: REST and streamable-HTTP MCP behind one guard, on the private socket and the loopback address.

Each of the two has a server of its own, so that other accounts, which reach the second alone, can take nothing from
the first. Their connections are those of `connections.py`.
"""

import asyncio
import contextlib
import errno
import logging
import socket
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import anyio
import uvicorn
from fastapi import FastAPI
from fastapi.responses import PlainTextResponse
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import Field

from dream.decisions.accept import Decisions
from dream.decisions.page import CHOSEN, PageSessions
from dream.routes import add_routes
from memory_server.errors import NeedsRepair
from memory_server.faces.body import Body
from memory_server.faces.connections import KEEP_ALIVE_SECONDS, HttpConnection
from memory_server.faces.guard import MAX_BODY_BYTES, Guard
from memory_server.faces.rest import create_api
from memory_server.settings_file import change_setting
from oneiros.daemon.daemon import Daemon
from oneiros.daemon.routes import add_daemon_routes
from oneiros.daemon.sockets import write_state
from oneiros.daemon.status import read_status
from oneiros.dreaming import build_decisions
from oneiros.environment import now, program_version
from oneiros.hooks.whereabouts import locate_project
from oneiros.ingest.settings import open_archive
from oneiros.parts import Part, Site
from oneiros.served import ServedMemory

logger = logging.getLogger(__name__)

BACKLOG = 64  # connections taken at a time, before the first of them is counted
NEXT_PORTS = 20  # behind the one that is set, a daemon each: an address of the page lasts
FREE_PORTS = 8  # of the system's choice that are tried for one that is free in IPv4 and IPv6
MOST_PORT = 65_535
NO_IPV6 = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})
NO_SITE = "no part of this program serves a page"
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


async def serve_http(daemon: Daemon) -> None:
    """Serves until the daemon is told to end."""
    pages = PageSessions(now, daemon.memory.root.state / CHOSEN)
    wished, site = daemon.memory.person.http_port, build_site(daemon.environment.parts)
    loopback = loopback_sockets(wished)
    app = create_app(daemon, pages, site)

    def let_through(scope: Mapping[str, Any]) -> None:
        scope["state"]["let_through"]()
        if not (site and scope["path"].startswith(site.pulse)):  # a page that lies open somewhere is no use to anybody
            daemon.activity.note()

    def is_open(method: str, path: str) -> bool:
        return site is not None and site.is_open_to_all(method, path)

    guarded = Guard(app, daemon.sockets.token, let_through, pages.holds, is_open)
    port = loopback[0].getsockname()[1]
    taken = wished if wished not in (0, port) else None
    write_state(daemon.sockets.state, port=port, version=program_version(), taken=taken)
    try:
        async with app.router.lifespan_context(app), anyio.create_task_group() as tasks:
            for listening in ([daemon.sockets.http], loopback):
                tasks.start_soon(build_server(guarded, daemon.ending.requested).serve, listening)
    finally:
        for opened in loopback:
            opened.close()


def build_server(app: Guard, end: asyncio.Event) -> QuietServer:
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


def build_site(parts: Iterable[Part]) -> Site | None:
    """What a browser is served: of the first part that serves it, with the views of all."""
    views = tuple(view for part in parts for view in part.views)
    return next((part.site(views) for part in parts if part.site), None)


def create_app(daemon: Daemon, pages: PageSessions, site: Site | None) -> FastAPI:
    """REST with MCP at `/mcp` beside it, and the site; without the guard."""
    memory, indexer, ending = daemon.memory, daemon.indexer, daemon.ending
    stop, restart = ending.requested.set, ending.restart

    def find_project(folder: str) -> str:
        return locate_project(folder, memory.root, memory.person)

    api = create_api(
        memory,
        indexer,
        program_version(),
        on_stop=stop,
        on_restart=restart,
        door=daemon.door,
        project_of=find_project,
        keep_setting=partial(change_setting, daemon.environment.person_file, follow=True),
    )

    add_daemon_routes(api, daemon)

    @api.get("/api/standing")
    def how_it_stands() -> dict[str, Any]:
        """The status of the memory with what is not archived yet, the daemon's jobs and what hooks have cost."""
        return read_status(daemon.environment, memory)

    @api.post("/api/hook/output", response_class=PlainTextResponse)
    def hook(body: Hook) -> PlainTextResponse:
        """Takes note of an event of the client: what its hook prints, and nothing else."""
        return PlainTextResponse(daemon.hooks.answer(body.event, body.full_input))

    def bring_level() -> None:
        indexer.wait(indexer.poke(), LEVEL_SECONDS)

    def decisions() -> Decisions:
        return build_decisions(memory.root, memory.person, bring_level)

    add_routes(api, decisions, pages, None if site else NeedsRepair(NO_SITE))
    seen = ServedMemory(memory, open_archive(memory.root), decisions, pages, daemon.running)
    if site:
        site.add_routes(api, seen)
    for part in daemon.environment.parts:
        if part.routes:
            part.routes(api, seen)
    # the guard has checked Host and Origin of every route, also of this one
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    served = daemon.mcp.streamable_http_app(
        json_response=True, stateless_http=True, transport_security=security, max_request_body_size=MAX_BODY_BYTES
    )
    api.router.routes.extend(served.routes)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with daemon.mcp.session_manager.run():
            yield

    api.router.lifespan_context = lifespan
    return api


class Hook(Body):
    """What a hook was told by its client."""

    event: str = Field("", max_length=100)
    client_pid: str = Field("", max_length=20)
    input: Any = None

    @property
    def full_input(self) -> Any:
        """The client's own input, with the number of its process."""
        return {**self.input, "client_pid": self.client_pid} if isinstance(self.input, dict) else self.input


def loopback_sockets(port: int) -> list[socket.socket]:
    """Sockets of this machine alone, of IPv4 and IPv6 on one port: the wished one or the next that is free in both.

    In both, since a browser takes either for `localhost`: whoever had one of them would share the page's origin. Where
    the machine has no IPv6 nobody has it. Any free port where none is wished or near.
    """
    near = range(port, min(port + NEXT_PORTS, MOST_PORT + 1)) if port else ()
    for wished in [*near, *[0] * FREE_PORTS]:
        opened = list[socket.socket]()
        try:
            opened.append(_bound(socket.AF_INET, "127.0.0.1", wished))
            opened.append(_bound(socket.AF_INET6, "::1", opened[0].getsockname()[1]))
        except OSError as error:
            if not (opened and error.errno in NO_IPV6):
                logger.warning("port %d cannot be had (%s)", wished, error.strerror)
                for one in opened:
                    one.close()
                continue
        return opened
    raise OSError("no port of the loopback address can be had")


def _bound(family: socket.AddressFamily, address: str, port: int) -> socket.socket:
    opened = socket.socket(family, socket.SOCK_STREAM)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family is socket.AF_INET6:
            opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        opened.bind((address, port))
        opened.listen(128)
    except OSError:
        opened.close()
        raise
    return opened
