"""Runs the daemon behind its open sockets, and looks now and then whether it is still wanted."""

import asyncio
import gc
import logging
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
from anyio.to_thread import current_default_thread_limiter

from memory_server.settings import read_person_settings
from oneiros.daemon.compose import compose_daemon
from oneiros.daemon.daemon import Daemon
from oneiros.daemon.mcp_lines import LineServer
from oneiros.daemon.sockets import Listening
from oneiros.environment import Environment

logger = logging.getLogger(__name__)

WORKER_THREADS = 8  # requests at work at the same time; the others wait in order
TICK_SECONDS = 1.0
LEAST_UPTIME_SECONDS = 300.0  # before the ceiling counts: one that is set too low must not become a restart loop
END_SECONDS = 5.0  # for answers under way when the daemon is told to end


def run_service(sockets: Listening) -> bool:
    """Serves until told to end. True where another process should take over: this one holds too much memory."""
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stderr, force=True
    )
    for chatty in ("mcp", "uvicorn", "httpx", "chromadb", "watchdog"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    with compose_daemon(sockets, Environment.of_process()) as daemon:
        Service(daemon).run()
    logger.info("ended")
    return daemon.ending.is_restart


class Service:
    """One daemon at work."""

    def __init__(self, daemon: Daemon):
        self._daemon = daemon
        self._person_seen = _read_change_time(daemon.environment.person_file)
        self._started = time.monotonic()

    def run(self) -> None:
        for worker in self._daemon.workers:
            worker.start()
        try:
            anyio.run(self._serve)
        finally:
            for worker in self._daemon.workers:
                worker.end()

    async def _serve(self) -> None:
        daemon = self._daemon
        current_default_thread_limiter().total_tokens = WORKER_THREADS
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, daemon.ending.requested.set)
        lines, http_ended = LineServer(daemon.mcp, daemon.activity.note), asyncio.Event()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lines.serve, daemon.sockets.mcp)
            tasks.start_soon(self._serve_http, http_ended)
            tasks.start_soon(self._tick)
            await daemon.ending.requested.wait()
            with anyio.move_on_after(END_SECONDS):
                await lines.drain()
                await http_ended.wait()
            tasks.cancel_scope.cancel()

    async def _serve_http(self, ended: asyncio.Event) -> None:
        serve_http = await anyio.to_thread.run_sync(_http_server)
        gc.collect()  # of what was answered meanwhile: what is frozen stays for good
        gc.freeze()  # what was imported: no collection looks through it
        gc.set_threshold(700, 10, 10)  # CPython's own; a command that serves has set a higher one for itself
        gc.enable()
        await serve_http(self._daemon)
        ended.set()

    async def _tick(self) -> None:
        while True:
            await anyio.sleep(TICK_SECONDS)
            self._follow_settings()
            self._look()

    def _look(self) -> None:
        """Whether the daemon is still wanted, small enough, and holds what it holds on the disk too."""
        daemon, person = self._daemon, self._daemon.memory.person
        if not daemon.memory.root.index_page.exists():
            logger.warning("the memory has gone; ending")
            daemon.ending.requested.set()
        elif not daemon.ending.requested.is_set() and not daemon.sockets.is_locked():  # one that ends takes them away
            logger.warning("the derived folder, the state or a socket was deleted; starting anew")
            daemon.ending.restart()
        idle, is_busy = person.idle_minutes * 60, any(worker.is_busy for worker in daemon.workers)
        if idle and daemon.activity.idle_seconds() > idle and not is_busy:
            logger.info("nobody asked for %.0f minutes; ending", person.idle_minutes)
            daemon.ending.requested.set()
        is_old = time.monotonic() - self._started > LEAST_UPTIME_SECONDS
        if is_old and person.memory_ceiling_mb and resident_mb() > person.memory_ceiling_mb:
            logger.warning("%d MB held, the ceiling is %d; starting anew", resident_mb(), person.memory_ceiling_mb)
            daemon.ending.restart()

    def _follow_settings(self) -> None:
        """Takes over what the person has changed in their settings file."""
        file = self._daemon.environment.person_file
        if (seen := _read_change_time(file)) == self._person_seen:
            return
        self._person_seen = seen
        try:
            self._daemon.memory.person = read_person_settings(file)
        except Exception as error:  # noqa: BLE001  a half-saved file must not end the daemon
            logger.warning("the settings stay as they were: %s", error)


def _http_server() -> Callable[[Daemon], Awaitable[None]]:
    from oneiros.daemon.http_service import serve_http  # noqa: PLC0415  FastAPI, for which MCP clients need not wait

    return serve_http


def resident_mb() -> float:
    """How much memory this process holds; 0 where the system does not tell cheaply."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _read_change_time(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0
