"""Brings the index of a tenant level with the newest commit of its repository.

What is checked out and indexed on the way lies in a folder of the tenant, is derived, and keeps the vectors of every
text, so that only new ones are embedded. The rows change in one transaction, which also says which commit they are of:
a kill at any point leaves the index of the commit before, and the next look begins again. Git decides, not what was
queued. A push by git can hold more passages than the tenant may: then the index stays where it is, and answers say so,
until there is room or a commit that fits.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg

from memory_server.errors import OneirosError
from memory_server.index.build import Progress
from memory_server.layers.index_page import NEW_PAGE
from memory_server.machine.files import make_folder, replace_file
from memory_server.memory import Memory
from parts.team.engine.database import Database, turn
from parts.team.engine.loading import Loaded, differences, load
from parts.team.errors import NotFound, QuotaExceeded, TeamError
from parts.team.opening import work_memory
from parts.team.outbox import CHANNEL, Outbox
from parts.team.settings import TeamSettings
from parts.team.tenants import drop_graph, room, set_apart

logger = logging.getLogger(__name__)

SWEEP_SECONDS = 60.0  # between two looks at all tenants; what is told by the database is indexed at once
LISTEN_SECONDS = 1.0  # at most, after which one that is told to end does
TURN_SECONDS = 60  # that a command waits for the process that indexes
SWEEP_TURN_SECONDS = 1  # that a look at all tenants does: the others come behind it


class TenantIndexer:
    """The process that indexes. A second one beside it does no harm, and is of no use."""

    def __init__(self, database: Database, outbox: Outbox, settings: TeamSettings):
        self._database = database
        self.outbox = outbox
        self.settings = settings

    def level(self, tenant: int, *, rebuild: bool = False, seconds: int = TURN_SECONDS) -> Loaded | None:
        """Loads the newest commit, and what is committed meanwhile; None where the index stands there already.

        `rebuild`: every row anew. Raises Unavailable where another process is at it for so long, NotFound for a tenant
        that was purged, QuotaExceeded for a commit that holds more passages than the tenant may, and more than its
        index does.
        """
        loaded = None
        with turn(self.settings.dsn, tenant, seconds):
            while True:
                with self.outbox.alone(tenant) as connection:
                    commit, stands = self.commits(connection, tenant)
                    if commit == stands and not rebuild:
                        connection.execute("delete from outbox where tenant = %s", (tenant,))
                        return loaded
                    self.outbox.note(connection, tenant, commit)
                loaded, rebuild = self._load(tenant, commit, rebuild=rebuild), False

    def commits(self, connection: psycopg.Connection, tenant: int) -> tuple[str, str]:
        """The newest commit, and the one that the index stands at."""
        row = connection.execute("select git_rev from tenant where id = %s", (tenant,)).fetchone()
        return self.outbox.repositories.find(tenant).head(), row[0] if row else ""

    def differences(self, tenant: int) -> list[str]:
        """What of the rows is not what an index made of the newest commit holds; empty where all is level."""
        with turn(self.settings.dsn, tenant, TURN_SECONDS):
            with self.outbox.alone(tenant) as connection:
                commit, stands = self.commits(connection, tenant)
            if not commit and not stands:
                return []
            with self._index_commit(tenant, commit) as memory, self._database.tenant(tenant) as connection:
                found = differences(connection, tenant, memory.indices)
        return found if commit == stands else [f"the index stands at {stands or 'no commit'}, git at {commit}", *found]

    def sweep(self, tenants: Sequence[int]) -> None:
        """Looks at every tenant; one that fails keeps no other one waiting."""
        for tenant in tenants:
            try:
                if loaded := self.level(tenant, seconds=SWEEP_TURN_SECONDS):
                    logger.info(
                        "tenant %d: %d sources changed, %d went, %d passages in all",
                        tenant,
                        loaded.replaced,
                        loaded.removed,
                        loaded.passages,
                    )
            except (OneirosError, psycopg.Error, OSError) as error:
                hint = f"{type(error).__name__}. `oneiros-team index` says more."  # which may quote a path
                why = error if isinstance(error, TeamError) else hint
                logger.warning("tenant %d is not level: %s", tenant, why)

    def follow(self, tenants: Callable[[], Sequence[int]], stop: threading.Event) -> None:
        """Indexes what is accepted, as it is told by the database, and all there is each SWEEP_SECONDS."""
        while not stop.is_set():
            try:
                with psycopg.connect(self.settings.dsn, autocommit=True) as connection:
                    connection.execute(f"listen {CHANNEL}")  # a name of our own
                    self.sweep(tenants())
                    while not stop.is_set():
                        self.sweep(sorted(wait_for_notices(connection, stop)) or tenants())
            except (psycopg.OperationalError, OneirosError) as error:
                logger.warning("the database does not answer (%s); trying again", type(error).__name__)
                stop.wait(1.0)

    def _load(self, tenant: int, commit: str, *, rebuild: bool) -> Loaded:
        owner_dsn = self.settings.owner_dsn  # without it no tenant gets a graph here: the application makes no index
        with self._index_commit(tenant, commit, rebuild=rebuild) as memory:
            if rebuild and owner_dsn:
                drop_graph(owner_dsn, tenant)
            with self._database.tenant(tenant) as connection:
                connection.execute("set local statement_timeout = 0")
                if rebuild:
                    connection.execute("update tenant set made_by = '' where id = %s", (tenant,))
                loaded = load(connection, tenant, memory.root, memory.indices, memory.model.fingerprint, commit)
        if owner_dsn:
            set_apart(owner_dsn, tenant)
        return loaded

    @contextmanager
    def _index_commit(self, tenant: int, commit: str, *, rebuild: bool = False) -> Iterator[Memory]:
        """The memory of a commit, indexed in its folder. Raises QuotaExceeded before its texts are embedded."""
        with self._database.tenant(tenant) as connection:
            most, held = room(connection, self.settings.passages)
        with work_memory(self.settings, self._check_out(tenant, commit)) as memory:

            def check(progress: Progress | None = None) -> None:
                if not self.outbox.repositories.find(tenant).folder.exists():
                    raise NotFound("there is no such memory")  # it is being purged
                if progress and progress.stage == "reading" and progress.done < progress.total:
                    return  # what goes or shrinks may come last
                if (wanted := memory.indices.ledger.counts()["chunks"]) > max(most, held):
                    raise QuotaExceeded(
                        f"commit {commit[:12]} holds {wanted} passages and the memory may hold {most}; its index stays"
                        " at the commit before",
                        remedy="Give it room (`oneiros-team quota NAME --passages N`), or push a commit that fits",
                    )

            memory.reindex(rebuild=rebuild, report_progress=check)
            check()
            yield memory

    def _check_out(self, tenant: int, commit: str) -> Path:
        folder = self.settings.work(tenant)
        make_folder(folder)
        self.outbox.repositories.find(tenant).check_out(commit, folder)
        page = folder / "MEMORY.md"
        if not page.exists():  # a folder without it is no memory
            replace_file(page, NEW_PAGE)
        return folder


def wait_for_notices(connection: psycopg.Connection, stop: threading.Event) -> set[int]:
    """The tenants that the database tells of; none after SWEEP_SECONDS, or where this is to end."""
    end, found = time.monotonic() + SWEEP_SECONDS, set[int]()
    while not found and not stop.is_set() and time.monotonic() < end:
        found |= {int(one.payload) for one in connection.notifies(timeout=LISTEN_SECONDS, stop_after=1)}
    return found
