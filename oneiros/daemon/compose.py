"""What the daemon does behind its open sockets: it puts memory, keeper, watcher and faces together and runs them."""

import asyncio
import importlib
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
from anyio.to_thread import current_default_thread_limiter
from mcp.server import MCPServer

from crawler.archive.store import Archive
from memory_server.faces.mcp_server import create_server
from memory_server.memory import Memory
from memory_server.settings import read_person_settings
from oneiros.assistant_tools import assistant_tools
from oneiros.daemon.jobs import daemon_jobs
from oneiros.daemon.keeper import Keeper
from oneiros.daemon.main import Listening, write_state
from oneiros.daemon.mcp_lines import LineServer
from oneiros.daemon.watching import Watcher
from oneiros.dreaming import decisions_on, dream_jobs
from oneiros.environment import Environment, now, program_version
from oneiros.hooks.dispatch import Hooks
from oneiros.hooks.review import ReviewNotice
from oneiros.hooks.tool import hook_tool
from oneiros.ingest.behind_hooks import TakingIn
from oneiros.ingest.chosen import archive_folder
from oneiros.ingest.model_recording import ModelRecording, asking_of
from oneiros.ingest.recording import recorder_on
from oneiros.schedule import Schedule, schedule_file
from oneiros.standing import standing

logger = logging.getLogger(__name__)

WORKER_THREADS = 8  # requests at work at the same time; the others wait in order
TICK_SECONDS = 1.0
LEAST_UPTIME_SECONDS = 300.0  # before the ceiling counts: one that is set too low must not become a restart loop
END_SECONDS = 5.0  # for answers under way when the daemon is told to end


class Activity:
    """When the daemon was last of use to anybody."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._last = clock()

    def note(self) -> None:
        self._last = self._clock()

    def idle_seconds(self) -> float:
        return self._clock() - self._last


def run_service(sockets: Listening) -> bool:
    """Serves until told to end. True where another process should take over: this one holds too much memory."""
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stderr, force=True
    )
    for chatty in ("mcp", "uvicorn", "httpx", "chromadb", "watchdog"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    environment = Environment.of_process()
    with environment.open_memory(environment.root_at(sockets.root), as_it_is=True) as memory:
        return Service(sockets, environment, memory).run()


class Service:
    """One daemon at work."""

    def __init__(self, sockets: Listening, environment: Environment, memory: Memory):
        self._sockets = sockets
        self._environment = environment
        self._memory = memory
        self.activity = Activity()
        self.keeper = Keeper(memory, self.activity.note)
        self.watcher = Watcher(memory, self.keeper.poke)
        memory.before_search = self.keeper.before_search
        self.keeper.watching = lambda: self.watcher.manner
        jobs = daemon_jobs(environment, memory.root, lambda: memory.person, self._on_taken)
        jobs = (*jobs, *dream_jobs(memory))
        self.schedule = Schedule(schedule_file(memory.root), jobs, now)
        self._recorder = recorder_on(memory)
        self.model_recording = ModelRecording(
            Archive(archive_folder(memory.root)),
            memory.typed_lines,
            lambda pause: asking_of(environment, memory.root, pause),
        )
        self.taking_in = TakingIn(environment, memory.root, self._on_taken)
        review = ReviewNotice(lambda: decisions_on(memory.root, memory.person))
        self.hooks = Hooks(
            memory, environment.home, self.taking_in, take_all=lambda: self.schedule.ask("ingest"), review=review
        )
        self._person_seen = _modified(environment.person_file)
        self._again = False
        self._started = time.monotonic()
        self._end: asyncio.Event | None = None

    def run(self) -> bool:
        self.keeper.start()
        self.watcher.start()
        self.schedule.start()
        self.taking_in.start()
        self.model_recording.start()
        threading.Thread(target=self._warm_up, name="warm-up", daemon=True).start()
        try:
            anyio.run(self._serve)
        finally:
            self.schedule.close()
            self.taking_in.close()
            self.model_recording.close()
            self.hooks.close()
            self.watcher.close()
            self.keeper.close()
        logger.info("ended")
        return self._again

    async def _serve(self) -> None:
        current_default_thread_limiter().total_tokens = WORKER_THREADS
        self._end = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._end.set)
        server = create_server(
            self._memory,
            program_version(),
            before_answer=self.activity.note,
            more_tools=assistant_tools(self._environment, self._memory),
            unlisted=[hook_tool(self.hooks.answer)],
        )
        lines = LineServer(server, self.activity.note)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lines.serve, self._sockets.mcp)
            http_ended = asyncio.Event()
            tasks.start_soon(self._serve_http, server, http_ended)
            tasks.start_soon(self._tick)
            await self._end.wait()
            with anyio.move_on_after(END_SECONDS):
                await lines.drain()
                await http_ended.wait()
            tasks.cancel_scope.cancel()

    async def _serve_http(self, server: MCPServer[Any], ended: asyncio.Event) -> None:
        # FastAPI, for which the other clients need not wait
        http_service = await anyio.to_thread.run_sync(importlib.import_module, "oneiros.daemon.http_service")
        assert self._end is not None
        await http_service.serve_http(
            self._memory,
            self.keeper,
            server,
            self._sockets.http,
            self._sockets.token,
            end=self._end,
            on_request=self.activity.note,
            on_restart=self._restart,
            on_port=self._note_port,
            on_hook=self.hooks.answer,
            standing=lambda: standing(self._environment, self._memory),
        )
        ended.set()

    async def _tick(self) -> None:
        """Looks now and then whether the daemon is still wanted, small enough, and set up as the person says."""
        assert self._end is not None
        while True:
            await anyio.sleep(TICK_SECONDS)
            self._follow_settings()
            person = self._memory.person
            if not self._memory.root.index_page.exists():
                logger.warning("the memory has gone; ending")
                self._end.set()
            elif not self._sockets.is_locked():
                logger.warning("the derived folder or the state was deleted; starting anew")
                self._restart()
            idle = person.idle_minutes * 60
            is_busy = self.keeper.is_busy or self.schedule.running or self.taking_in.is_busy
            is_busy = is_busy or self.model_recording.is_busy
            if idle and self.activity.idle_seconds() > idle and not is_busy:
                logger.info("nobody asked for %.0f minutes; ending", person.idle_minutes)
                self._end.set()
            is_old = time.monotonic() - self._started > LEAST_UPTIME_SECONDS
            if is_old and person.memory_ceiling_mb and resident_mb() > person.memory_ceiling_mb:
                logger.warning("%d MB held, the ceiling is %d; starting anew", resident_mb(), person.memory_ceiling_mb)
                self._restart()

    def _follow_settings(self) -> None:
        """Takes over what the person has changed in their settings file."""
        seen = _modified(self._environment.person_file)
        if seen == self._person_seen:
            return
        self._person_seen = seen
        try:
            self._memory.person = read_person_settings(self._environment.person_file)
        except Exception as error:  # noqa: BLE001  a half-saved file must not end the daemon
            logger.warning("the settings stay as they were: %s", error)

    def _warm_up(self) -> None:
        """Loads the model and reads the indices, so that the first question does not wait for them."""
        try:
            self._memory.embed_query("warm up")
            self._memory.indices.snapshot()
            self._record()
        except Exception as error:  # noqa: BLE001  whoever asks will be told
            logger.warning("warming up: %s", error)

    def _on_taken(self, session_id: str, has_ended: bool) -> None:
        """A session was taken in, or all were: what came of it is indexed and recorded."""
        self.keeper.poke(anyway=True)
        self._record()
        if session_id:
            self._recorder.note(session_id, now(), has_ended=has_ended)

    def _record(self) -> None:
        """Brings the typed lines level by rules; a model, where one is set, goes over them behind that."""
        self._recorder.bring_level()
        self.model_recording.poke()

    def _restart(self) -> None:
        """Ends this process and lets another one take its place. Call from the loop."""
        assert self._end is not None
        self._again = True
        self._end.set()

    def _note_port(self, port: int) -> None:
        write_state(self._sockets.state, port=port, version=program_version())


def resident_mb() -> float:
    """How much memory this process holds; 0 where the system does not tell cheaply."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _modified(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0
