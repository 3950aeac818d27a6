"""The real server over the real database, on the loopback, in a thread of the test."""

import contextlib
import socket
import threading
from collections.abc import Iterator

from team.engine.database import Database
from team.memory import TeamMemory
from team.opening import embedder
from team.server.app import create_app, server_of
from team.server.metrics import Metrics
from team.settings import TeamSettings


@contextlib.contextmanager
def served_team(settings: TeamSettings) -> Iterator[str]:
    """Where it answers; ended behind the test."""
    database = Database(settings.dsn, connections=3)
    app = create_app(database, TeamMemory(database, embedder(settings)), settings, "1.0", Metrics())
    server, listening = server_of(app, settings), socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    thread.join(30)
    database.close()
