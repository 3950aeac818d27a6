"""A server on the loopback over a real database. What it answers from is a stand-in of the door, for the tests of the
server alone; `test_whole.py` has the real one.
"""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from memory_server.document import Answer, ChunkId, Hit, Layer, LineRange, SourcePath
from memory_server.layers.topics import TopicHead, topic_name
from memory_server.reading import SourceText
from memory_server.search.question import Question
from parts.team.access.tokens import create_token
from parts.team.engine.database import Database
from parts.team.errors import NotFound
from parts.team.memory import TeamAnswer, TeamMemory, TeamReading, TeamStatus
from parts.team.server.app import build_server, create_app
from parts.team.server.metrics import Metrics
from parts.team.settings import TeamSettings
from parts.team.tenants import create_tenant

COMMIT = "c0ffee0123456789"


@dataclass
class Standin(TeamMemory):
    """The door over files in memory: a file answers where it holds every word of the question."""

    files: dict[int, dict[str, str]]
    before: Callable[[], None] = lambda: None
    head: str = COMMIT
    asked: list[tuple[int, str]] = field(default_factory=list)

    def search(self, tenant: int, question: Question) -> TeamAnswer:
        self.asked.append((tenant, question.text))
        self.before()
        held = self.files.get(tenant, {}).items()
        found = [(path, text) for path, text in held if all(word in text for word in question.text.split())]
        hits = [
            Hit(ChunkId(path), text, SourcePath(path), LineRange(1, 1), Layer.TOPIC, path, None, 1.0)
            for path, text in found
        ]
        return TeamAnswer(Answer(tuple(hits), "" if hits else "Nothing found."), COMMIT, self.head)

    def read(self, tenant: int, path: str, first: int = 1, last: int | None = None) -> TeamReading:
        self.before()
        text = self.files.get(tenant, {}).get(path)
        if text is None:
            raise NotFound(f"there is no {path!r}", remedy="List the topics, or search for it")
        lines = LineRange(1, 1)
        return TeamReading(SourceText(SourcePath(path), Layer.TOPIC, path, None, lines, 1, (text,)), COMMIT)

    def topics(self, tenant: int) -> list[TopicHead]:
        return [
            TopicHead(topic_name(SourcePath(path)), path, None, "", SourcePath(path))
            for path in self.files.get(tenant, {})
        ]

    def status(self, tenant: int) -> TeamStatus:
        return TeamStatus("a team", len(self.files.get(tenant, {})), 1, COMMIT, COMMIT, 1, "minilm")


@dataclass
class Served:
    """A running server with two tenants, and a token of each."""

    url: str
    memory: Standin
    settings: TeamSettings
    ants_name: str
    bees_name: str
    ants: str
    bees: str
    metrics: Metrics
    database: Database
    server: uvicorn.Server

    def tell_to_end(self) -> None:
        """As SIGTERM does to a process."""
        self.server.should_exit = True

    def client(self, token: str = "") -> httpx.Client:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=30)


Start = Callable[..., Served]


@pytest.fixture
def start(owner_dsn: str, app_dsn: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Start]:
    """Starts a server with some settings changed; ends it behind the test."""
    names = [f"{kind} of {request.node.name}" for kind in ("ants", "bees")]
    ants, bees = [create_tenant(owner_dsn, name).id for name in names]
    tokens = [create_token(owner_dsn, name, f"{name[:3]}@example.org", ["read", "publish"], 1) for name in names]
    with contextlib.ExitStack() as stack:

        def started(**changed: Any) -> Served:
            """Another process would share with the first what this one does: the database."""
            files = {ants: {"topics/hill.md": "the hill is warm"}, bees: {"topics/hive.md": "the hive is warm"}}
            settings = replace(TeamSettings(public_url="http://team.test", folder=tmp_path / "team"), **changed)
            memory, metrics, database = Standin(files), Metrics(), Database(app_dsn, connections=4)
            stack.callback(database.close)
            server = build_server(create_app(database, memory, settings, "1.0", metrics), settings)
            listening = socket.create_server(("127.0.0.1", 0))
            thread = threading.Thread(target=server.run, args=([listening],))
            url = f"http{'s' if settings.tls_key else ''}://127.0.0.1:{listening.getsockname()[1]}"
            thread.start()

            def end() -> None:
                server.should_exit = True
                thread.join(30)
                assert not thread.is_alive()

            stack.callback(end)
            return Served(url, memory, settings, names[0], names[1], tokens[0], tokens[1], metrics, database, server)

        yield started


@pytest.fixture
def served(start: Start) -> Served:
    """A server as the settings come."""
    return start()
