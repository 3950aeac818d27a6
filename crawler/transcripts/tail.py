"""Where reading stopped in each file, so that an append costs the new bytes only.

A file is known by machine and path. Inode, size and time of change tell an untouched file without opening it; a hash
of everything that was read tells an append from a rewrite, wherever in the file that was. Everything here can be
rebuilt: without it every file is read again, and the archive drops what it has.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO

import msgspec

from crawler.transcripts.entry import Entry, is_id
from memory_server.machine.database import connect_shared, remove_damaged, transaction

PIECE_BYTES = 1 << 20  # read and hashed at once

SCHEMA = """
CREATE TABLE IF NOT EXISTS files(
    machine TEXT, path TEXT, inode INTEGER, size INTEGER, changed_ns INTEGER, offset INTEGER, line INTEGER,
    prefix BLOB, session_id TEXT, source TEXT, verdict TEXT, reason TEXT, rules TEXT, is_gone INTEGER,
    unread INTEGER DEFAULT 0,
    PRIMARY KEY (machine, path));
CREATE TABLE IF NOT EXISTS copies(key TEXT PRIMARY KEY, session_id TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS facts(name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
"""


class Verdict(StrEnum):
    """What became of a file."""

    TAKEN = "taken"
    FOREIGN = "foreign"  # another tool wrote it
    DENIED = "denied"  # its project is not taken in
    EXCLUDED = "excluded"  # the person marked the conversation, or has forgotten it
    OWN = "own"  # a session of the compressor or of dream
    OPEN = "open"  # too little written to say


@dataclass(frozen=True, slots=True)
class FileState:
    """What is known of one file after it was read."""

    path: str
    inode: int
    size: int  # bytes when it was last looked at
    changed_ns: int
    verdict: Verdict
    offset: int = 0  # bytes consumed; a torn last line is not
    line: int = 0
    prefix: bytes = b""  # hash of the bytes consumed
    session_id: str = ""
    source: str = ""
    reason: str = ""
    rules: str = ""  # hash of the choice that was applied; a changed choice judges again
    is_gone: bool = False
    unread: int = 0  # lines that hold no record

    def is_untouched(self, size: int, changed_ns: int, inode: int) -> bool:
        return not self.is_gone and (self.size, self.changed_ns, self.inode) == (size, changed_ns, inode)


COLUMNS = tuple(field.name for field in fields(FileState))
FILES = f"SELECT {', '.join(COLUMNS)} FROM files WHERE machine = ?"  # noqa: S608  our own column names


class TailState:
    """The table of files read, and of entries that a fork would copy."""

    def __init__(self, path: Path, machine: str):
        self._machine = machine
        remove_damaged(path)
        self._db = connect_shared(path, SCHEMA)

    def close(self) -> None:
        self._db.close()

    def files(self) -> dict[str, FileState]:
        """Every file known on this machine, by path."""
        return {row[0]: _parse_state(row) for row in self._db.execute(FILES, (self._machine,))}

    def file(self, path: str) -> FileState | None:
        row = self._db.execute(f"{FILES} AND path = ?", (self._machine, path)).fetchone()
        return _parse_state(row) if row else None

    def inside(self, path: str) -> dict[str, FileState]:
        """What is known of each conversation in a file that holds many, by its key there."""
        below = (self._machine, f"{path}/", f"{path}0")  # 0 comes behind /
        rows = self._db.execute(f"{FILES} AND path > ? AND path < ?", below)
        return {row[0].removeprefix(f"{path}/"): _parse_state(row) for row in rows}

    def put(self, state: FileState, copies: Iterable[str] = ()) -> None:
        """Notes a file and the keys of the entries taken from it, both or neither."""
        marks = ", ".join("?" * (len(COLUMNS) + 1))
        with transaction(self._db):
            self._db.execute(
                f"INSERT OR REPLACE INTO files(machine, {', '.join(COLUMNS)}) VALUES ({marks})",  # noqa: S608  as above
                (self._machine, *astuple(state)),
            )
            self._db.executemany(
                "INSERT OR IGNORE INTO copies VALUES (?, ?)", ((key, state.session_id) for key in copies)
            )

    def find_owner(self, key: str) -> str:
        """The session that an entry was first read in, or an empty string."""
        row = self._db.execute("SELECT session_id FROM copies WHERE key = ?", (key,)).fetchone()
        return row[0] if row else ""

    def mark_gone(self, paths: Iterable[str]) -> None:
        with transaction(self._db):
            self._db.executemany(
                "UPDATE files SET is_gone = 1 WHERE machine = ? AND path = ?", ((self._machine, p) for p in paths)
            )

    def list_keys(self, session_id: str) -> list[str]:
        """The keys of a session's entries."""
        return [row[0] for row in self._db.execute("SELECT key FROM copies WHERE session_id = ?", (session_id,))]

    def forget_session(self, session_id: str) -> None:
        """Drops everything about a session; the last bytes go with those of its typed lines, which share the file."""
        with transaction(self._db):
            self._db.execute("DELETE FROM copies WHERE session_id = ?", (session_id,))
            self._db.execute("DELETE FROM files WHERE session_id = ?", (session_id,))

    def is_filled(self) -> bool:
        """Whether the table of copies stands for the whole archive: it does not after `.oneiros/` was deleted."""
        return bool(self._db.execute("SELECT 1 FROM facts WHERE name = 'copies'").fetchone())

    def fill(self, copies: Iterable[tuple[str, str]]) -> None:
        """Rebuilds the table of copies from (key, session id) pairs."""
        with transaction(self._db):
            self._db.executemany("INSERT OR IGNORE INTO copies VALUES (?, ?)", copies)
            self._db.execute("INSERT OR REPLACE INTO facts VALUES ('copies', 'filled')")


def _parse_state(row: tuple[object, ...]) -> FileState:
    return msgspec.convert(dict(zip(COLUMNS, row, strict=True)), FileState, strict=False)  # 0 and 1 are bool


class PrefixHash:
    """A hash of the first bytes of a file that can be carried on as more of them are read."""

    def __init__(self) -> None:
        self._state = hashlib.blake2b(digest_size=16)
        self._length = 0

    def carry_on(self, stream: BinaryIO, length: int) -> bytes:
        """The hash of so many bytes from the start of the file, or of all there are; moves the stream."""
        stream.seek(self._length)
        while piece := stream.read(min(length - self._length, PIECE_BYTES)):
            self._state.update(piece)
            self._length += len(piece)
        return self._state.digest()


def copy_key(entry: Entry) -> str:
    """The same for an entry and its copy in a fork or a resumed session.

    A uuid and its time are enough. Ids of other shapes are not unique in the world, so there the words count too.
    """
    words = "" if is_uuid(entry.id) else "\0".join(part.text for part in entry.parts)
    return hashlib.blake2b(f"{entry.id}\0{entry.time}\0{words}".encode(), digest_size=10).hexdigest()


def is_uuid(text: str) -> bool:
    return len(text) == 36 and text.count("-") == 4 and is_id(text)
