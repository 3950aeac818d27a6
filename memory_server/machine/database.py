"""The one door to SQLite files: how they are opened, how long a lock is waited for, how a change happens as a whole."""

import json
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from memory_server.machine.files import make_folder, remove_file

logger = logging.getLogger(__name__)

FILE_HEAD = b"SQLite format 3\0"  # of every database that holds anything
LOCK_SECONDS = 10.0  # that another writer is waited for


def connect(file: Path) -> sqlite3.Connection:
    """A connection that begins no transaction by itself; threads that share it take turns. Raises sqlite3.Error.

    In a folder that can only be read it shows what is there, a file that is not there as one that holds nothing.
    """
    if not (reads_only := is_read_only(file.parent)):
        make_folder(file.parent)
    # Nothing is cached: from Python 3.12 on two threads are handed the same cached statement, and each gets rows of the
    # other's question. To bind a value in one also holds the interpreter while another thread waits for a writer.
    connection = sqlite3.connect(
        build_uri(file),
        timeout=LOCK_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=0,
        uri=True,
    )
    if reads_only:
        return connection
    try:
        _use_wal(connection)  # readers go on beside a writer
        connection.execute("pragma synchronous=normal")  # a loss of power may cost the last changes, never the file
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def is_read_only(folder: Path) -> bool:
    """Whether a folder that is there may not be written to, by its rights or by its disk."""
    return folder.is_dir() and not os.access(folder, os.W_OK)


def build_uri(file: Path) -> str:
    """What SQLite opens, or attaches to a connection of this module, for a file."""
    if not is_read_only(file.parent):
        return str(file)
    if not file.exists():
        return ":memory:"
    # without its log, which nobody can make here, SQLite reads a file only as one that never changes
    how = "mode=ro" if Path(f"{file}-wal").exists() else "mode=ro&immutable=1"
    return f"{file.resolve().as_uri()}?{how}"


def _use_wal(connection: sqlite3.Connection) -> None:
    """Waits for a writer as any other statement does: SQLite itself refuses this one at once."""
    until = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            connection.execute("pragma journal_mode=wal")
            return
        except sqlite3.OperationalError as error:
            if not is_locked(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)


def is_locked(error: sqlite3.Error) -> bool:
    """Whether another connection's write did not end in time; nothing is wrong with the file then."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without what SQLite adds to it; Python's own errors have none
    return code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def connect_shared(file: Path, schema: str) -> sqlite3.Connection:
    """A connection to a file that several parts of the program keep tables in. Raises sqlite3.Error.

    `schema`: the tables of one part, as statements that may be repeated.
    """
    connection = connect(file)
    try:
        connection.execute("pragma secure_delete=on")  # what is forgotten leaves no bytes in its pages
        connection.executescript(schema)
    except (sqlite3.Error, OSError):
        connection.close()
        raise
    return connection


def open_foreign(file: Path) -> sqlite3.Connection:
    """A connection to another program's file, which can only be read by it. Raises sqlite3.Error."""
    return sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", timeout=LOCK_SECONDS, uri=True)


def spellings(connection: sqlite3.Connection, table: str, column: str, is_wanted: Callable[[str], bool]) -> str:
    """The values of a column that are wanted once their case is folded, as a JSON array for `json_each`.

    SQLite folds ASCII alone. A function of Python's in a statement would fold all, and would hang the process: its
    thread holds the connection and waits for the interpreter, while a thread that binds a value for the same
    connection holds the interpreter and waits for the connection.
    """
    rows = connection.execute(f"select distinct {column} from {table}")  # noqa: S608  names of our own
    return json.dumps([value for (value,) in rows if is_wanted(value.casefold())])


def copy_whole(file: Path, to: Path) -> None:
    """Copies a database as it is at one moment, also while others write it. Raises sqlite3.Error."""
    with closing(sqlite3.connect(file, timeout=LOCK_SECONDS)) as source, closing(sqlite3.connect(to)) as copy:
        source.backup(copy)


def has_only_tables(file: Path) -> bool:
    """Whether a database that came from elsewhere brings nothing that acts by itself: no trigger and no view."""
    try:
        with closing(open_foreign(file)) as connection:
            odd = "select count(*) from sqlite_master where type not in ('table', 'index')"
            return bool(connection.execute(odd).fetchone() == (0,))
    except sqlite3.DatabaseError:
        return False


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """A change that happens as a whole or not at all; another writer waits for its end."""
    connection.execute("begin immediate")
    try:
        yield
    except BaseException:
        if connection.in_transaction:  # SQLite itself ends one when the disk is full
            connection.execute("rollback")
        raise
    connection.execute("commit")


def erase_deleted(connection: sqlite3.Connection) -> bool:
    """Rewrites the file without the bytes that deleted rows left; whether it did, which another reader may prevent."""
    connection.execute("vacuum")
    is_busy, *_ = connection.execute("pragma wal_checkpoint(truncate)").fetchone()
    return not is_busy


def remove_database(file: Path) -> None:
    """Removes a file and what SQLite keeps beside it; the file last: whoever makes a new one must keep its log."""
    for suffix in ("-wal", "-shm", ""):
        remove_file(file.with_name(file.name + suffix))


def remove_damaged(file: Path) -> None:
    """Removes a file that is no database any more, where all it holds is made anew from other files.

    SQLite looks, since the system ends all locks of a process on a file with each descriptor of it that is closed: the
    next process to close its connection would take away the log that the connections of this one write to.
    """
    if not file.exists() or is_read_only(file.parent):
        return
    try:
        with closing(sqlite3.connect(file, timeout=LOCK_SECONDS)) as connection:
            connection.execute("pragma schema_version")
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) != sqlite3.SQLITE_NOTADB:
            return  # it is opened next, and says so
        with file.open("rb") as stream:  # which takes no lock away: on what is no database nobody has one
            begins_as_one = stream.read(len(FILE_HEAD)) == FILE_HEAD
        if not begins_as_one:
            logger.warning("%s was damaged and is made anew", file)
            remove_database(file)


def read_version(file: Path) -> int:
    """The version that a program noted in the file; 0 where there is none, or no file, or a damaged one."""
    if not file.exists():
        return 0
    try:
        with closing(sqlite3.connect(build_uri(file), uri=True)) as connection:
            return int(connection.execute("pragma user_version").fetchone()[0])
    except sqlite3.DatabaseError:
        return 0


class SharedDatabase:
    """Tables of a shared file, which is opened at its first use; one thread at a time asks it."""

    def __init__(self, file: Path, schema: str, *, is_derived: bool = False):
        """`is_derived`: what it holds is made anew, see `remove_damaged`."""
        self._is_derived = is_derived
        self._file = file
        self._schema = schema
        self._guard = threading.RLock()
        self._connection: sqlite3.Connection | None = None

    def exists(self) -> bool:
        """Whether there is anything to ask; asking a file that was never written would make it."""
        return self._file.exists()

    @contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        """The connection, for this thread alone."""
        with self._guard:
            if self._connection is None:
                if self._is_derived:
                    remove_damaged(self._file)
                self._connection = connect_shared(self._file, self._schema)
            yield self._connection

    @contextmanager
    def change(self) -> Iterator[sqlite3.Connection]:
        """The connection, for one change as a whole."""
        with self.open() as connection, transaction(connection):
            yield connection

    def is_whole(self) -> bool:
        """Whether SQLite finds nothing wrong with the file; reads all of it."""
        try:
            with self.open() as connection:
                return bool(connection.execute("pragma quick_check(1)").fetchone() == ("ok",))
        except sqlite3.DatabaseError:
            return False

    def drop(self) -> None:
        """Removes the file with all tables; the next use makes an empty one."""
        with self._guard:
            self.close()
            remove_database(self._file)

    def close(self) -> None:
        with self._guard:
            if self._connection is not None:
                self._connection.close()
            self._connection = None
