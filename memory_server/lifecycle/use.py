"""The log of use: what was found, opened, drilled into and confirmed, source by source, once a question and day.

It is the person's state and not derived: without it age counts from the day of the loss, so that what fades does so
later and never earlier. It holds paths, days and numbers, and no words. What hooks put before a model, health checks
and replays asked for never gets here: only `Memory.search`, `read`, `read_session` and `judge` write.
"""

import datetime as dt
import hashlib
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_server.document import LineRange, SourcePath
from memory_server.layers.sessions import find_subject
from memory_server.machine.database import SharedDatabase, erase_deleted

SCHEMA = """
create table if not exists found(
    path text primary key, subject text not null, times integer not null, last text not null
) without rowid;
create index if not exists found_subject on found(subject);
create table if not exists access(
    path text, subject text not null, day text, kind text, first integer, last integer, times integer not null,
    primary key(path, day, kind, first, last)
) without rowid;
create index if not exists access_subject on access(subject);
create table if not exists counted(day text, what blob, primary key(day, what)) without rowid;
create table if not exists begun(day text not null);
"""
OPENED, DRILLED, CONFIRMED = "opened", "drilled", "confirmed"


@dataclass(frozen=True, slots=True)
class Access:
    """A source was opened, drilled into or confirmed: on a day, so many times."""

    day: dt.date
    times: int = 1


@dataclass(frozen=True, slots=True)
class Use:
    """What is known of the use of one source; of a session, of its file and its turns together."""

    found: int = 0
    opened: int = 0
    drilled: int = 0  # confirmed ones are among the opened
    last: dt.date | None = None  # when it was last opened, drilled into or, else, found
    accesses: tuple[Access, ...] = ()
    last_found: dt.date | None = None

    @property
    def retrieval_count(self) -> int:
        """How often it was found, opened or drilled into."""
        return self.found + self.opened + self.drilled

    @property
    def last_retrieved(self) -> dt.date | None:
        """When it was last found, opened or drilled into."""
        return max(filter(None, (self.last, self.last_found)), default=None)

    @property
    def in_words(self) -> str:
        counts = f"found {self.found}, opened {self.opened}, drilled {self.drilled} times"
        return f"{counts}, last {self.last.isoformat()}" if self.last else counts


NEVER = Use()


class UseLog:
    """The tables of use. Safe for several threads and processes."""

    def __init__(self, file: Path, today: Callable[[], dt.date]):
        """Opens nothing yet. Looking into a log that was never written makes no file."""
        self._database = SharedDatabase(file, SCHEMA)
        self.close = self._database.close
        self._today = today
        self._question = ""  # the last question, hashed: what is opened is counted once for it

    def count_found(self, question: str, paths: Collection[str]) -> None:
        """Counts the sources of an answer."""
        day, self._question = self._today().isoformat(), hashlib.sha256(question.encode()).hexdigest()
        with self._database.change() as connection:
            self._begin(connection, day)
            new = [path for path in dict.fromkeys(paths) if self._is_new(connection, day, "found", path)]
            connection.executemany(
                "insert into found values(?, ?, 1, ?)"
                " on conflict(path) do update set times = times + 1, last = excluded.last",
                [(path, find_subject(path), day) for path in new],
            )

    def count_access(self, path: str, lines: LineRange, kind: str = OPENED) -> None:
        """Counts that lines of a source were read, or turns of a session."""
        day = self._today().isoformat()
        with self._database.change() as connection:
            self._begin(connection, day)
            times = int(self._is_new(connection, day, kind, path))
            connection.execute(
                "insert into access values(?, ?, ?, ?, ?, ?, ?)"
                " on conflict(path, day, kind, first, last) do update set times = times + excluded.times",
                (path, find_subject(path), day, kind, lines.first, lines.last, times),
            )

    def _begin(self, connection: sqlite3.Connection, day: str) -> None:
        connection.execute("insert into begun select ? where not exists (select 1 from begun)", (day,))
        connection.execute("delete from counted where day <> ?", (day,))

    def _is_new(self, connection: sqlite3.Connection, day: str, kind: str, path: str) -> bool:
        """Whether this was not counted yet for the last question on this day."""
        what = hashlib.sha256(f"{kind}\0{find_subject(path)}\0{self._question}".encode()).digest()[:12]
        return connection.execute("insert or ignore into counted values(?, ?)", (day, what)).rowcount > 0

    @property
    def since(self) -> dt.date | None:
        """The day since which use is known; None where it never was."""
        rows = self._rows("select min(day) from begun")
        return dt.date.fromisoformat(rows[0][0]) if rows and rows[0][0] else None

    def uses(self, of: Collection[str] = ()) -> Mapping[str, Use]:
        """The use of some subjects, see `find_subject`; of all that are known where none is named."""
        among = f"where subject in ({', '.join('?' * len(of))})" if of else ""
        found = {
            subject: (times, day)
            for subject, times, day in self._rows(
                f"select subject, sum(times), max(last) from found {among} group by subject",  # noqa: S608  question marks only
                *of,
            )
        }
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        days: dict[str, list[Access]] = defaultdict(list)
        for subject, day, kind, times in self._rows(
            f"select subject, day, kind, sum(times) from access {among} group by subject, day, kind order by day",  # noqa: S608  question marks only
            *of,
        ):
            counts[subject][kind] += times
            days[subject].append(Access(dt.date.fromisoformat(day), times))
        last_found = {subject: dt.date.fromisoformat(day) for subject, (_, day) in found.items()}
        return {
            subject: Use(
                found.get(subject, (0, ""))[0],
                counts[subject][OPENED] + counts[subject][CONFIRMED],
                counts[subject][DRILLED],
                days[subject][-1].day if subject in days else last_found[subject],
                tuple(one for one in days.get(subject, ()) if one.times),
                last_found.get(subject),
            )
            for subject in found.keys() | days.keys()
        }

    def count_opened(self, day: dt.date) -> Mapping[SourcePath, int]:
        """How often each source was opened before a day; the same whenever it is asked for a day that is over."""
        query = "select path, sum(times) from access where day < ? group by path"
        return {SourcePath(path): times for path, times in self._rows(query, day.isoformat())}

    def read_opened_lines(self) -> Mapping[SourcePath, Sequence[LineRange]]:
        """The lines, or turns, of each source that somebody has read, in order and joined."""
        found: dict[SourcePath, list[LineRange]] = {}
        for path, first, end in self._rows(
            "select distinct path, first, last from access where first > 0 order by path, first"
        ):
            ranges = found.setdefault(SourcePath(path), [])
            if ranges and first <= ranges[-1].last + 1:
                ranges[-1] = LineRange(ranges[-1].first, max(end, ranges[-1].last))
            else:
                ranges.append(LineRange(first, end))
        return found

    def counts(self) -> tuple[int, int, int]:
        """How many sources were found, opened and drilled into."""
        [(found,)] = self._rows("select count(distinct subject) from found") or [(0,)]
        kinds = dict(self._rows("select kind, count(distinct subject) from access group by kind"))
        return int(found), int(kinds.get(OPENED, 0)), int(kinds.get(DRILLED, 0))

    def paths(self) -> set[str]:
        """Every source of which anything is known."""
        return {path for (path,) in self._rows("select path from found union select path from access")}

    def forget(self, paths: Collection[str]) -> bool:
        """Removes all that is known of these sources, to the last byte; whether that could be done."""
        if not self._database.exists():
            return True
        with self._database.open() as connection:
            for table in ("found", "access"):
                connection.executemany(f"delete from {table} where path = ?", [(path,) for path in paths])  # noqa: S608  names of our own
            connection.execute("delete from counted")
            return erase_deleted(connection)

    def _rows(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        if not self._database.exists():
            return []
        with self._database.open() as connection:
            return connection.execute(query, values).fetchall()
