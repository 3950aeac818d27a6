"""What the service is made of, once `compose.py` has put it together."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mcp.server import MCPServer

from memory_server.faces.door import Door
from memory_server.memory import Memory
from oneiros.daemon.index_runs import IndexRuns
from oneiros.daemon.sockets import Listening
from oneiros.environment import Environment
from oneiros.hooks.dispatch import Hooks
from oneiros.ingest.queue import IngestQueue
from oneiros.served import Running
from oneiros.worker import Worker


class Activity:
    """When the daemon was last of use to anybody."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._last = clock()

    def note(self) -> None:
        self._last = self._clock()

    def idle_seconds(self) -> float:
        return self._clock() - self._last


class Ending:
    """That the daemon is to end, and whether another process takes its place. Of the event loop alone."""

    def __init__(self) -> None:
        self.requested = asyncio.Event()
        self.is_restart = False

    def restart(self) -> None:
        self.is_restart = True
        self.requested.set()


@dataclass(frozen=True, slots=True)
class Daemon:
    """One daemon."""

    sockets: Listening
    environment: Environment
    memory: Memory  # of the root
    door: Door | None  # what answers for it, where another one may stand beside
    indexer: IndexRuns
    hooks: Hooks
    queue: IngestQueue
    on_ingested: Callable[[str, bool], None]  # a session was ingested, or all were; whether it has ended
    mcp: MCPServer[Any]
    running: Running  # what the page asks of this process
    activity: Activity
    ending: Ending
    workers: Sequence[Worker]  # whatever runs behind the faces
