"""The local query log: what was asked, what came back, what of it was read, and what the person says of the answers.

It lies in the person's state of the memory; it never leaves the machine. Secrets are masked before a row is
written, and the whole log can be switched off. It feeds the weekly report and the replay of queries.
"""

import datetime as dt
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from memory_server.document import ChunkId, SourcePath
from memory_server.machine.database import SharedDatabase, erase_deleted

MAX_ROWS = 50_000  # the oldest go first; a year of heavy use is some 20,000
MAX_QUERY_CHARS = 500
MAX_READ_CHARS = 10_000  # searched for secrets before the text is cut, so that no half of one is left at the end

SCHEMA = """
create table if not exists query(
    id integer primary key, at text not null, tool text not null, query text not null, hits text not null,
    found integer not null
);
create table if not exists reading(at text not null, path text not null, lines text not null, query integer);
create table if not exists judgement(
    at text not null, tool text not null, query text not null, path text not null, verdict text not null
);
"""


class AnswerVerdict(StrEnum):
    """What a person says of one source as an answer to a question."""

    RIGHT = "right"
    WRONG = "wrong"
    MISSING = "missing"  # the memory knows it and did not show it; without a path, nobody knows where it stands


@dataclass(frozen=True, slots=True)
class JudgedQuestion:
    """One question, and what a person said of sources as its answer."""

    tool: str
    query: str  # as it was logged, secrets masked
    verdicts: Mapping[SourcePath, AnswerVerdict]


@dataclass(frozen=True, slots=True)
class LoggedQuery:
    """One question as it was logged."""

    at: dt.datetime
    tool: str
    query: str
    hits: tuple[ChunkId, ...]


class QueryLog:
    """The tables of questions, readings and judgements. Safe for several threads and processes."""

    def __init__(self, file: Path, redact: Callable[[str], str], now: Callable[[], dt.datetime]):
        """Opens nothing yet. Looking into a log that was never written makes no file."""
        self._database = SharedDatabase(file, SCHEMA)
        self.close = self._database.close
        self._redact = redact
        self._now = now
        self._last: int | None = None

    def note_question(self, tool: str, query: str, hits: Sequence[ChunkId]) -> None:
        """Notes a question with the ids of its hits."""
        text = self._redact(query[:MAX_READ_CHARS].encode("utf-8", "replace").decode("utf-8"))[:MAX_QUERY_CHARS]
        with self._database.open() as connection:
            cursor = connection.execute(
                "insert into query(at, tool, query, hits, found) values(?, ?, ?, ?, ?)",
                (self._now().isoformat(timespec="seconds"), tool, text, json.dumps(hits), len(hits)),
            )
            self._last = cursor.lastrowid
            if self._last and self._last % 1_000 == 0:
                connection.execute("delete from query where id <= ?", (self._last - MAX_ROWS,))
                connection.execute(
                    "delete from reading where rowid <= (select max(rowid) from reading) - ?", (MAX_ROWS,)
                )

    def read(self, path: SourcePath, lines: str) -> None:
        """Notes what was read, and after which question."""
        with self._database.open() as connection:
            connection.execute(
                "insert into reading values(?, ?, ?, ?)",
                (self._now().isoformat(timespec="seconds"), path, lines, self._last),
            )

    def queries(self, *, without_hits: bool = False, limit: int = MAX_ROWS) -> list[LoggedQuery]:
        """The questions, newest first."""
        if not self._database.exists():
            return []
        with self._database.open() as connection:
            rows = connection.execute(
                "select at, tool, query, hits from query where found = 0 or not ? order by id desc limit ?",
                (without_hits, limit),
            ).fetchall()
        return [
            LoggedQuery(dt.datetime.fromisoformat(row[0]), row[1], row[2], tuple(map(ChunkId, json.loads(row[3]))))
            for row in rows
        ]

    def judge(self, judgement: JudgedQuestion) -> None:
        """Keeps what a person says of a question, in the place of what they said of it before."""
        tool, query, at = judgement.tool, judgement.query, self._now().isoformat(timespec="seconds")
        rows = [(at, tool, query, path, verdict) for path, verdict in judgement.verdicts.items()]
        with self._database.open() as connection:
            connection.execute("delete from judgement where tool = ? and query = ?", (tool, query))
            connection.executemany("insert into judgement values(?, ?, ?, ?, ?)", rows)

    def judgements(self) -> list[JudgedQuestion]:
        """The judged questions, oldest first."""
        if not self._database.exists():
            return []
        with self._database.open() as connection:
            rows = connection.execute("select tool, query, path, verdict from judgement order by rowid").fetchall()
        found: dict[tuple[str, str], dict[SourcePath, AnswerVerdict]] = {}
        for tool, query, path, verdict in rows:
            found.setdefault((tool, query), {})[SourcePath(path)] = AnswerVerdict(verdict)
        return [JudgedQuestion(tool, query, verdicts) for (tool, query), verdicts in found.items()]

    def forget(self, hits: Collection[ChunkId], paths: Collection[SourcePath]) -> bool:
        """Removes the questions that these passages answered, and readings and judgements of these sources, to the last
        byte; whether that could be done.
        """
        if not self._database.exists():
            return True
        with self._database.open() as connection:
            rows = connection.execute("select id, hits from query").fetchall()
            gone = [(row,) for row, found in rows if not set(json.loads(found)).isdisjoint(hits)]
            connection.executemany("delete from judgement where query in (select query from query where id = ?)", gone)
            connection.executemany(
                "delete from judgement where query in (select query from judgement where path = ?)",
                [(path,) for path in paths],
            )
            connection.executemany("delete from query where id = ?", gone)
            connection.executemany("delete from reading where path = ?", [(path,) for path in paths])
            return erase_deleted(connection)

    def count(self) -> int:
        """How many questions are kept."""
        if not self._database.exists():
            return 0
        with self._database.open() as connection:
            return int(connection.execute("select count(*) from query").fetchone()[0])
