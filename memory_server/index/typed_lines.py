"""What sessions said, as typed lines: decisions, lessons, preferences and so on, each with its session.

Derived from the archive by the recorder, replaced a session at a time, deleted and made again at any time. It is asked
beside the other indices: it says which passages of a session are of a type, and finds lines of sessions that go on and
have no compressed file yet.
"""

import datetime as dt
import json
import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_server.machine.database import SharedDatabase, erase_deleted, spellings, transaction

SCHEMA = """
create table if not exists session (session text primary key, mark text not null, project text not null) without rowid;
create table if not exists line (
    id integer primary key, session text not null, ordinal integer not null, type text not null, text text not null,
    why text not null, entries text not null, time text not null default ''
);
create index if not exists line_session on line (session);
create virtual table if not exists line_words using fts5(text, content='line', content_rowid='id', tokenize='porter');
create trigger if not exists line_new after insert on line begin
    insert into line_words (rowid, text) values (new.id, new.text);
end;
create trigger if not exists line_gone after delete on line begin
    insert into line_words (line_words, rowid, text) values ('delete', old.id, old.text);
end;
"""


@dataclass(frozen=True, slots=True)
class TypedLine:
    """One typed line of a session."""

    session_id: str
    ordinal: int  # among the lines of its session, from 0
    type: str
    text: str
    why: str
    project: str
    entries: tuple[str, ...]  # of the archive
    time: dt.datetime | None = None  # when it was said, aware


class TypedLines:
    """The typed lines of one memory. Safe to share between threads and processes."""

    def __init__(self, file: Path):
        """Opens nothing yet."""
        self._database = SharedDatabase(file, SCHEMA, is_derived=True)
        self.close = self._database.close

    def drop_damaged(self) -> None:
        """Removes the file where it is damaged in any place; it is made anew from transcripts and archive."""
        if self._database.exists() and not self._database.is_whole():
            self._database.drop()

    def marks(self) -> dict[str, str]:
        """The sessions that are recorded, each with the mark of what it was made from. Makes no file either."""
        if not self._database.exists():
            return {}
        with self._database.open() as connection:
            return dict(connection.execute("select session, mark from session"))

    def replace(self, session_id: str, mark: str, project: str, lines: Sequence[TypedLine]) -> None:
        """Puts a session's lines in the place of its older ones."""
        with self._database.change() as connection:
            self._remove(connection, session_id)
            connection.execute("insert into session values (?, ?, ?)", (session_id, mark, project))
            connection.executemany(
                "insert into line (session, ordinal, type, text, why, entries, time) values (?, ?, ?, ?, ?, ?, ?)",
                [_row(session_id, one) for one in lines],
            )

    def remove(self, session_id: str) -> None:
        """Takes a session out; the stems of its words stay in the file until `forget`."""
        with self._database.change() as connection:
            self._remove(connection, session_id)

    def forget(self, session_ids: Collection[str]) -> bool:
        """Takes sessions out to the last byte, with what was left of earlier ones; whether that could be done."""
        if not self._database.exists():
            return True
        with self._database.open() as connection:
            with transaction(connection):
                for session_id in session_ids:
                    self._remove(connection, session_id)
            # FTS5 only notes that a word is gone: its stem stays until the pieces of the index are made one
            connection.execute("insert into line_words (line_words) values ('optimize')")
            return erase_deleted(connection)

    def of_session(self, session_id: str, types: Sequence[str] = ()) -> list[TypedLine]:
        """The lines of a session in their order, of some types alone where these are named.

        `session_id` may be its beginning. Looking into a store that was never written makes no file.
        """
        if not self._database.exists():
            return []
        # a range, since a statement with a pattern is prepared anew for each one
        where, values = _of_types("line.session between ? and ?", [session_id, f"{session_id}\U0010ffff"], types)
        return self._lines(where, values, "line.session, line.ordinal")

    def find(self, words: Sequence[str], types: Sequence[str], projects: Sequence[str], limit: int) -> list[TypedLine]:
        """Lines of any of these types and projects, where some are named, that hold any of the words; best first."""
        question = " OR ".join('"' + word.replace('"', '""') + '"' for word in words if any(map(str.isalnum, word)))
        if not question:
            return []
        where, values = _of_types("line_words match ?", [question], types)
        if projects:
            wanted = {name.casefold() for name in projects}
            with self._database.open() as connection:
                values.append(spellings(connection, "session", "project", wanted.__contains__))
            where += " and session.project in (select value from json_each(?))"
        return self._lines(where, values, "bm25(line_words), line.id", limit)

    def _lines(self, where: str, values: Sequence[object], order: str, limit: int = -1) -> list[TypedLine]:
        source = "line join session on session.session = line.session"
        if "line_words" in where:
            source += " join line_words on line_words.rowid = line.id"
        columns = "line.session, line.ordinal, line.type, line.text, line.why, session.project, line.entries, line.time"
        with self._database.open() as connection:
            rows = connection.execute(
                f"select {columns} from {source} where {where} order by {order} limit ?",  # noqa: S608  clauses of our own
                (*values, limit),
            ).fetchall()
        return [_line(row) for row in rows]

    @staticmethod
    def _remove(connection: sqlite3.Connection, session_id: str) -> None:
        for table in ("line", "session"):
            connection.execute(f"delete from {table} where session = ?", (session_id,))  # noqa: S608  names of our own


def _row(session_id: str, line: TypedLine) -> tuple[object, ...]:
    stamp = line.time.isoformat() if line.time else ""
    return session_id, line.ordinal, line.type, line.text, line.why, json.dumps(line.entries), stamp


def _line(row: Sequence[Any]) -> TypedLine:
    session, ordinal, kind, text, why, project, entries, stamp = row
    time = dt.datetime.fromisoformat(stamp) if stamp else None
    return TypedLine(session, ordinal, kind, text, why, project, tuple(json.loads(entries)), time)


def _of_types(where: str, values: list[str], types: Sequence[str]) -> tuple[str, list[str]]:
    """A condition and its values, narrowed to some types."""
    if not types:
        return where, values
    return f"{where} and line.type in ({', '.join('?' * len(types))})", [*values, *types]


def fold_text(text: str) -> str:
    """A text as lines and passages are compared: whatever its case and line breaks."""
    return " ".join(text.split()).casefold()
