"""What hooks have put into which session: so that nothing is shown twice, and a person sees what it costs.

Derived and machine-local: without the file a session may be shown a topic again, and old receipts are gone.
"""

import sqlite3
from collections.abc import Collection
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from memory_server.machine.database import SharedDatabase

MOST_SESSIONS = 500
SCHEMA = """
create table if not exists shown (session text, key text, primary key (session, key)) without rowid;
create table if not exists receipt (
    number integer primary key, session text not null, event text not null, tokens integer not null
);
create index if not exists receipt_session on receipt (session);
"""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was injected into one session."""

    session_id: str
    injections: int
    tokens: int


class Receipts:
    """The receipts of one memory. Safe to share between threads."""

    def __init__(self, file: Path):
        """Opens nothing yet."""
        self._database = SharedDatabase(file, SCHEMA, is_derived=True)
        self.close = self._database.close

    def newest(self, limit: int) -> list[Receipt]:
        """Those of the sessions that were last injected into, the newest first; looking makes no file."""
        if not self._database.exists():
            return []
        newest = "select session, count(*), sum(tokens) from receipt group by session order by max(number) desc limit ?"
        with self._database.open() as connection:
            return [Receipt(*row) for row in connection.execute(newest, (limit,))]

    def list_shown(self, session_id: str) -> set[str]:
        """What a session has been shown."""
        with self._database.open() as connection:
            rows = connection.execute("select key from shown where session = ?", (session_id,))
            return {row[0] for row in rows}

    def note(self, session_id: str, event: str, keys: Collection[str], tokens: int) -> None:
        """Notes an injection."""
        with self._database.change() as connection:
            connection.executemany("insert or ignore into shown values (?, ?)", [(session_id, key) for key in keys])
            connection.execute(
                "insert into receipt (session, event, tokens) values (?, ?, ?)", (session_id, event, tokens)
            )

    def forget_shown(self, session_id: str) -> None:
        """What was shown stands no longer before the model: its context was cleared or compacted."""
        with self._database.change() as connection:
            connection.execute("delete from shown where session = ?", (session_id,))

    def prune(self) -> None:
        """Leaves the sessions that were last injected into."""
        newest = "select session from receipt group by session order by max(number) desc limit ?"
        with self._database.change() as connection:
            for table in ("receipt", "shown"):
                connection.execute(
                    f"delete from {table} where session not in ({newest})",  # noqa: S608  names from the tuple above
                    (MOST_SESSIONS,),
                )


def read_receipts(file: Path) -> list[Receipt]:
    """Those of five sessions, the newest first; nothing where no hook has said anything, or the file is damaged."""
    with closing(Receipts(file)) as receipts:
        try:
            return receipts.newest(5)
        except sqlite3.Error:
            return []
