"""The real server over the real database, on the loopback: in a thread of the test, or as a process of its own."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from parts.team.engine.database import Database
from parts.team.memory import TeamMemory
from parts.team.opening import embedder
from parts.team.server.app import build_server, create_app
from parts.team.server.metrics import Metrics
from parts.team.settings import TeamSettings


@contextlib.contextmanager
def served_team(settings: TeamSettings) -> Iterator[str]:
    """Where it answers; ended behind the test."""
    database = Database(settings.dsn, connections=3)
    app = create_app(database, TeamMemory(database, embedder(settings)), settings, "1.0", Metrics())
    server, listening = build_server(app, settings), socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    thread.join(30)
    database.close()


@dataclass
class Process:
    """A server of its own."""

    process: subprocess.Popen[str]
    url: str
    log: list[str]
    reading: threading.Thread  # until the end of the log


@contextlib.contextmanager
def served_process(**settings: str) -> Iterator[Process]:
    """`oneiros-team serve` with some settings, from when it listens; killed behind the test, where it still runs."""
    variables = {f"ONEIROS_TEAM_{name.upper()}": value for name, value in settings.items()}
    command = [sys.executable, "-c", "from parts.team.cli import run; run()", "serve"]
    process = subprocess.Popen(command, env={**os.environ, **variables}, stderr=subprocess.PIPE, text=True)
    with process:
        assert process.stderr is not None
        log: list[str] = []
        for line in process.stderr:
            log.append(line)
            says = json.loads(line).get("says", "")
            if says.startswith("listening at "):
                break
        reading = threading.Thread(target=log.extend, args=(process.stderr,))
        reading.start()
        yield Process(process, f"http://{says.removeprefix('listening at ')}", log, reading)
        process.kill()
        reading.join()
