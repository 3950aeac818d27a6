"""What is accepted: a row of the outbox, then the commit, so that no commit is without a row, whenever a kill comes.

    a row is queued          in a transaction of its own
    the lock of the tenant   one writer at a time; it goes with the connection
    the commit               only while the row is there
    the row names it

The indexer (`indexing.py`) takes rows away under the same lock, where the index stands at the newest commit. So a row
that is there says that the index may be behind, and git alone says what is true.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
from psycopg import IsolationLevel

from memory_server.errors import NeedsRepair
from parts.team.engine.database import Database
from parts.team.errors import NotFound, Unavailable
from parts.team.repositories import Files, Repositories, TeamRepository

logger = logging.getLogger(__name__)

COMMITS = 2  # class of the advisory locks under which a tenant's branch moves
CHANNEL = "oneiros_accepted"
TRIES = 20


class Outbox:
    """The one way to a commit of a tenant. Safe to share between threads and processes."""

    def __init__(self, database: Database, repositories: Repositories):
        self._database = database
        self.repositories = repositories

    def accept(self, tenant: int, change: Callable[[TeamRepository], Files], message: str) -> str:
        """Commits what `change` makes of the repository; returns the newest commit, which may be an older one.

        `change` may give nothing, where all is there already: then whoever asks again after a cut connection gets the
        same answer. Raises Unavailable where the database does not answer; whether it was committed is not known then.
        Raises NotFound for a tenant that was purged.
        """
        for _ in range(TRIES):
            row = self._queue(tenant)
            with self.alone(tenant) as connection:
                named, queued = (tenant, row), "select from outbox where tenant = %s and id = %s for update"
                is_queued = connection.execute(queued, named).rowcount
                if (
                    is_queued
                    and (commit := _commit_change(self.repositories.find(tenant), change, message)) is not None
                ):
                    connection.execute("update outbox set commit = %s where tenant = %s and id = %s", (commit, *named))
                    connection.execute("select pg_notify(%s, %s)", (CHANNEL, str(tenant)))
                    return commit
            logger.debug("the indexer took row %d of tenant %d, or a push came before its commit", row, tenant)
        raise Unavailable("the memory is too busy", remedy="Try again in a moment")

    @contextmanager
    def alone(self, tenant: int) -> Iterator[psycopg.Connection]:
        """A transaction in which no other one of us moves the tenant's branch."""
        with self.hold(tenant) as connection:
            connection.execute("select pg_advisory_xact_lock(%s, %s)", (COMMITS, tenant))
            yield connection

    @contextmanager
    def hold(self, tenant: int) -> Iterator[psycopg.Connection]:
        """A transaction in which the tenant has a repository and is not purged. Raises NotFound where it was."""
        # what another one committed while this one waited for a lock must be seen: so no snapshot of the beginning
        with self._database.tenant(tenant, IsolationLevel.READ_COMMITTED) as connection:
            if not connection.execute("select from tenant where id = %s for key share", (tenant,)).rowcount:
                raise NotFound("there is no such memory")
            self.repositories.make(tenant)
            yield connection

    def note(self, connection: psycopg.Connection, tenant: int, commit: str) -> None:
        """Queues a commit that nobody accepted, a push by git, in a transaction of `alone`: so answers tell of it."""
        connection.execute(
            "insert into outbox(tenant, commit) select id, %s from tenant where id = %s and head_of(id, git_rev) <> %s",
            (commit, tenant, commit),
        )

    def _queue(self, tenant: int) -> int:
        with self.hold(tenant) as connection:
            row = connection.execute("insert into outbox(tenant) values(%s) returning id", (tenant,)).fetchone()
        assert row is not None
        return int(row[0])


def _commit_change(repository: TeamRepository, change: Callable[[TeamRepository], Files], message: str) -> str | None:
    """The newest commit after a change; None where a push moved the branch while it was made."""
    head = repository.head()
    files = change(repository)
    try:
        return repository.commit(files, message, head) if files else head
    except NeedsRepair:
        if repository.head() == head:
            raise
        return None
