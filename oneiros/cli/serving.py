"""Serving other programs: `mcp`."""

import threading
import time
from collections.abc import Callable

import typer

from memory_server.memory import Memory
from oneiros.cli.output import talk
from oneiros.environment import Environment, program_version

LOOK_SECONDS = 2.0  # how often at most the disk is compared before an answer


def add_commands(app: typer.Typer, environment: Environment) -> None:
    """Adds the commands of this group."""

    @app.command(epilog="\b\nExample: claude mcp add oneiros -- oneiros mcp")
    def mcp() -> None:
        """Serve the memory to an MCP client over stdin and stdout."""
        from memory_server.mcp_server import create_server  # noqa: PLC0415  the SDK takes half a second to import

        with environment.open_memory() as memory:
            refresher = Refresher(memory)
            threading.Thread(target=refresher.look, name="first-look", daemon=True).start()
            create_server(memory, program_version(), before_answer=refresher.look_again).run("stdio")


class Refresher:
    """Keeps the indices of a served memory level with the disk, without making a client wait for a large change."""

    def __init__(self, memory: Memory, clock: Callable[[], float] = time.monotonic):
        self._memory = memory
        self._clock = clock
        self._guard = threading.Lock()
        self._looked: float | None = None

    def look(self) -> None:
        """Takes the root for this process if it is free, and indexes whatever changed, however much it is."""
        with self._guard:
            if self._memory.indices.own() and not self._memory.changes().is_empty:
                self._memory.reindex()
            self._looked = self._clock()

    def look_again(self) -> None:
        """The same for a small change, unless it was looked a moment ago or a look is under way."""
        if not self._guard.acquire(blocking=False):
            return
        try:
            if self._looked is not None and self._clock() - self._looked < LOOK_SECONDS:
                return
            behind = self._memory.refresh()
            if not behind.is_empty:
                talk("oneiros: the indices are behind the disk; run `oneiros reindex`")
            self._looked = self._clock()
        finally:
            self._guard.release()
