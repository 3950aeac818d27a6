"""The ledger: what is indexed, and where.

It holds the sources and chunks, the keyword index over them (in the same file, so that both change in one
transaction), and for every chunk whether it is found by meaning yet. A change is announced here before a vector is
made and confirmed after, so that the next start can finish what a kill interrupted from this table alone. It does not
decide what to index; `build.py` does.
"""

import datetime as dt
import hashlib
import json
import re
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_server.document import (
    Chunk,
    ChunkId,
    Document,
    Interval,
    Layer,
    LineRange,
    SourceHead,
    SourcePath,
    Standing,
)
from memory_server.embedding.vector_cache import TextHash
from memory_server.errors import NeedsRepair, Problem
from memory_server.fields import COLUMNS, FilterKind
from memory_server.index.keywords import SqliteKeywords
from memory_server.index.schema import SCHEMA, SCHEMA_VERSION
from memory_server.language.spelling import is_spelt_alike, unify
from memory_server.language.words import extra_words
from memory_server.machine.database import connect, erase_deleted, is_locked, read_version, transaction
from memory_server.machine.files import file_identity, find_refusal

VECTORS = "vectors"  # the note of the model whose vectors are confirmed; another whenever some were lost
SourceMark = tuple[str, str, int | None]  # path, hash of its content, row of its first chunk: numbers are used again


@dataclass(frozen=True, slots=True)
class SourceState:
    """What the ledger knows of a file: enough to tell whether it changed."""

    path: SourcePath
    size: int  # bytes
    modified_ns: int  # a number of its times, see `build.py`; 0 where it had just changed
    content_hash: str  # sha256 of the file


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk as it was indexed."""

    row: int
    id: ChunkId
    source: int
    ordinal: int
    lines: LineRange
    headings: tuple[str, ...]
    passage: str  # the searchable text
    context: str
    standing: Standing | None  # of what was said in a session
    settled_at: int  # the turn that shows it, from 1; 0 where none does
    person_chars: int  # at its beginning that a person said in a session
    noted: str = ""  # what it says in a reader's words, a line each
    takes_back: str = ""  # and what it ends


class Ledger:
    """The SQLite file of one memory root. Threads may share one: no statement of it waits for the interpreter."""

    def __init__(self, file: Path):
        self._file = file
        try:
            self.connection = _connect(file)
        except sqlite3.DatabaseError as error:
            raise _make_damage_error(file, error) from error
        self.keywords = SqliteKeywords(self.connection)
        self._identity = file_identity(file)

    @property
    def is_current(self) -> bool:
        """Whether the file that was opened is still the one on the disk; a rebuild by another process replaces it."""
        return file_identity(self._file) == self._identity

    def close(self) -> None:
        self.connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A write that happens as a whole or not at all. Raises NeedsRepair where another writer does not end."""
        try:
            with transaction(self.connection):
                yield
        except sqlite3.OperationalError as error:
            locked = NeedsRepair(
                f"the ledger cannot be written ({error})", where=self._file, remedy="Run `oneiros doctor`"
            )
            raise find_refusal(error, self._file, "the ledger") or locked from error

    def compact(self) -> bool:
        """Gives back the room of what was removed, of which no byte stays; whether that could be done. Call with no run
        under way.
        """
        for table in ("stems", "words", "bodies"):
            self.connection.execute(f"insert into {table}({table}) values('optimize')")
        return erase_deleted(self.connection)

    # -- what was read ------------------------------------------------------------------------------------------

    def sources(self) -> Mapping[SourcePath, SourceState]:
        """All sources that are indexed."""
        rows = self.connection.execute("select path, size, modified_ns, content_hash from source")
        return {SourcePath(row[0]): SourceState(SourcePath(row[0]), *row[1:]) for row in rows}

    def source_state(self, path: SourcePath) -> SourceState | None:
        """One source's state; None where it is not indexed."""
        row = self.connection.execute(
            "select size, modified_ns, content_hash from source where path = ?", (path,)
        ).fetchone()
        return SourceState(path, *row) if row else None

    def put_source(
        self, document: Document, state: SourceState, chunks: Sequence[Chunk], hashes: Sequence[TextHash]
    ) -> None:
        """Replaces a source and its chunks, which are found by meaning when they are confirmed.

        `hashes`: for each chunk the key of its embedded text. Call within a transaction.
        """
        self._forget_chunks(document.path)
        texts = [document.about(), *(chunk.searchable for chunk in chunks)]
        extra = [extra_words(text) for text in texts]
        body = unify("\n".join(f"{text}\n{more}" for text, more in zip(texts, extra, strict=True)))
        source = self._write_source(document, state, body)
        rows = [
            {
                "chunk_id": chunk.id,
                "source": source,
                "ordinal": chunk.ordinal,
                "first_line": chunk.lines.first,
                "last_line": chunk.lines.last,
                "headings": json.dumps(chunk.headings, ensure_ascii=False),
                "context": context,
                "passage": chunk.searchable,
                "unified_context": _unify_text(context),
                "unified_passage": _unify_text(chunk.searchable),
                "extra": more,
                "keys": join_keys(chunk.keys),
                "word_count": len(WORD.findall(chunk.searchable)),
                "text_hash": key if chunk.searchable else None,
                "standing": chunk.standing or "",
                "settled_at": chunk.settled_at,
                "person_chars": chunk.person_chars,
                "noted": "\n".join(chunk.noted),
                "takes_back": "\n".join(chunk.takes_back),
            }
            for chunk, more, key in zip(chunks, extra[1:], hashes, strict=True)
            for context in [chunk.context(document) if chunk.searchable else ""]
        ]
        if rows:
            marks = ", ".join(f":{column}" for column in rows[0])
            self.connection.executemany(f"insert into chunk({', '.join(rows[0])}) values({marks})", rows)

    def _write_source(self, document: Document, state: SourceState, body: str) -> int:
        """The head of a source and the words of it all; returns its number, which stays."""
        old = self.connection.execute("select id from source where path = ?", (document.path,)).fetchone()
        self.connection.execute("delete from source where path = ?", (document.path,))
        row = {
            "id": old[0] if old else None,
            **{column: _encode_value(getattr(document, column)) for column in HEAD_COLUMNS},
            "holds_from": _iso(document.interval.first),
            "holds_until": _iso(document.interval.last),
            "size": state.size,
            "modified_ns": state.modified_ns,
            "content_hash": state.content_hash,
            "body": body,
        }
        marks = ", ".join("?" * len(row))
        insert = f"insert into source({', '.join(row)}) values({marks}) returning id"
        [(number,)] = self.connection.execute(insert, tuple(row.values())).fetchall()
        return int(number)

    def touch_source(self, state: SourceState) -> None:
        """Notes a file's new size and time where its content is the same. Call within a transaction."""
        self.connection.execute(
            "update source set size = ?, modified_ns = ? where path = ?", (state.size, state.modified_ns, state.path)
        )

    def remove_source(self, path: SourcePath) -> None:
        """Forgets a source that vanished. Call within a transaction."""
        self._forget_chunks(path)
        self.connection.execute("delete from source where path = ?", (path,))

    def _forget_chunks(self, path: SourcePath) -> None:
        self.connection.execute("delete from chunk where source = (select id from source where path = ?)", (path,))

    # -- what is found by meaning -------------------------------------------------------------------------------

    def pending(self) -> list[tuple[ChunkId, Layer, TextHash, str]]:
        """Chunks that are not confirmed: id, layer, key and text to embed; topics first, then by age."""
        rows = self.connection.execute(
            "select chunk_id, layer, text_hash, context, passage, keys"
            " from chunk join source on source.id = chunk.source"
            " where is_semantic = 0 and text_hash is not null order by layer != ?, date desc, path, ordinal",
            (Layer.TOPIC,),
        )
        return [(ChunkId(row[0]), Layer(row[1]), TextHash(row[2]), build_embedded_text(*row[3:])) for row in rows]

    def texts(self) -> dict[TextHash, str]:
        """What the model reads of every searchable chunk, by key, the newest first."""
        rows = self.connection.execute(
            "select text_hash, context, passage, keys from chunk join source on source.id = chunk.source"
            " where text_hash is not null order by date desc, chunk.id"
        )
        return {TextHash(row[0]): build_embedded_text(*row[1:]) for row in rows}

    def text_hashes(self) -> set[TextHash]:
        """The keys of all searchable chunks."""
        rows = self.connection.execute("select distinct text_hash from chunk where text_hash is not null")
        return {TextHash(key) for (key,) in rows}

    def list_pending_keys(self) -> set[TextHash]:
        """The keys of all chunks that are not confirmed."""
        select = "select distinct text_hash from chunk where is_semantic = 0 and text_hash is not null"
        return {TextHash(key) for (key,) in self.connection.execute(select)}

    def confirm(self, chunks: Sequence[ChunkId]) -> None:
        """Notes that chunks are found by meaning."""
        with self.transaction():
            self.connection.executemany("update chunk set is_semantic = 1 where chunk_id = ?", [(i,) for i in chunks])

    def unconfirm(self) -> None:
        """Takes back what was confirmed, as after a change of model or when vectors were lost."""
        with self.transaction():
            self.connection.execute("update chunk set is_semantic = 0")

    def list_confirmed_keys(self, layer: Layer) -> Mapping[ChunkId, TextHash]:
        """The chunks of a layer that were confirmed, with the keys of their vectors."""
        rows = self.connection.execute(
            "select chunk_id, text_hash from chunk join source on source.id = chunk.source"
            " where is_semantic = 1 and text_hash is not null and layer = ?",
            (layer,),
        )
        return {ChunkId(row[0]): TextHash(row[1]) for row in rows}

    def list_keys_by_layer(self) -> Mapping[Layer, set[TextHash]]:
        """The keys of all searchable chunks, layer by layer."""
        rows = self.connection.execute(
            "select layer, text_hash from chunk join source on source.id = chunk.source where text_hash is not null"
        )
        found: dict[Layer, set[TextHash]] = {layer: set() for layer in Layer}
        for layer, key in rows:
            found[Layer(layer)].add(TextHash(key))
        return found

    def find_rows(self, layer: Layer, keys: Sequence[TextHash]) -> list[int]:
        """The rows of a layer's chunks that have one of these keys, or are not confirmed."""
        marks = ",".join("?" * len(keys))
        select = (
            "select chunk.id from chunk join source on source.id = chunk.source"  # noqa: S608  question marks only
            f" where layer = ? and (text_hash in ({marks}) or (is_semantic = 0 and text_hash is not null))"
        )
        return [row for (row,) in self.connection.execute(select, (layer, *keys))]

    # -- reading ------------------------------------------------------------------------------------------------

    def chunks(self, rows: Sequence[int]) -> Mapping[int, StoredChunk]:
        """Chunks by their row numbers; unknown ones are left out."""
        found = {}
        for start in range(0, len(rows), 500):
            part = rows[start : start + 500]
            marks = ",".join("?" * len(part))
            select = f"select {CHUNK_COLUMNS} from chunk where id in ({marks})"  # noqa: S608  question marks only
            for row in self.connection.execute(select, [int(number) for number in part]):
                found[row[0]] = _make_chunk(row)
        return found

    def find_chunk(self, source: int, line: int) -> StoredChunk | None:
        """The chunk of a source that begins with a line; None where none does."""
        select = f"select {CHUNK_COLUMNS} from chunk where source = ? and first_line = ? order by ordinal limit 1"  # noqa: S608  columns of our own
        row = self.connection.execute(select, (source, line)).fetchone()
        return _make_chunk(row) if row else None

    def last_reply(self, chunk: StoredChunk) -> StoredChunk | None:
        """The chunk in which the last reply to the person begins, for one that begins with their words.

        None where they spoke again, or the session ends, before anybody replied.
        """
        select = (
            f"select {CHUNK_COLUMNS} from chunk where source = :source and ordinal >= :ordinal and ordinal < coalesce("  # noqa: S608  columns of our own
            "(select min(ordinal) from chunk where source = :source and person_chars > 0 and first_line > :turn), 1e9)"
            " and length(passage) > person_chars order by last_line desc, ordinal limit 1"
        )
        place = {"source": chunk.source, "ordinal": chunk.ordinal, "turn": chunk.lines.first}
        row = self.connection.execute(select, place).fetchone()
        return _make_chunk(row) if row else None

    def sample(self, count: int) -> list[tuple[ChunkId, str]]:
        """Some searchable passages, by an order that has nothing to do with what they say."""
        rows = self.connection.execute(
            "select chunk_id, passage from chunk where text_hash is not null order by chunk_id limit ?", (count,)
        )
        return [(ChunkId(name), str(passage)) for name, passage in rows]

    def lowest(self, count: int) -> list[int]:
        """The rows of the searchable passages of the lowest hashes: they stand for all, in whatever order all came."""
        rows = self.connection.execute(
            "select id from chunk where text_hash is not null order by text_hash, chunk_id limit ?", (count,)
        )
        return [row for (row,) in rows]

    def content_mark(self) -> str:
        """Differs whenever the searchable passages differ. Row numbers would not tell: they are used again."""
        rows = self.connection.execute("select text_hash from chunk where text_hash is not null order by text_hash")
        return f"{self.note(VECTORS)}/{hashlib.sha256(b''.join(row for (row,) in rows)).hexdigest()}"

    def find_ids(self, paths: Collection[SourcePath]) -> set[ChunkId]:
        """The ids of all chunks of some sources."""
        select = "select chunk_id from chunk join source on source.id = chunk.source where path = ?"
        return {ChunkId(row[0]) for path in paths for row in self.connection.execute(select, (path,))}

    def rows_by_id(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, int]:
        """The row numbers of chunks by their ids; unknown ones are left out."""
        found: dict[ChunkId, int] = {}
        for start in range(0, len(ids), 500):
            part = ids[start : start + 500]
            marks = ",".join("?" * len(part))
            select = f"select chunk_id, id from chunk where chunk_id in ({marks})"  # noqa: S608  question marks only
            found.update(self.connection.execute(select, part).fetchall())
        return found

    def read_sources(self, numbers: Collection[int] | None = None) -> Mapping[int, SourceHead]:
        """The heads of sources by their number: of these, or of all."""
        select = f"select id, holds_from, holds_until, {', '.join(HEAD_COLUMNS)} from source"  # noqa: S608  columns of our own
        if numbers is None:
            rows = self.connection.execute(select)
        else:
            some = " where id in (select value from json_each(?))"
            rows = self.connection.execute(select + some, (json.dumps([*numbers]),))
        return {row[0]: _source_head(row) for row in rows}

    def source_marks(self) -> Mapping[int, SourceMark]:
        """What differs for a source, by its number, whenever its head or its chunks were written anew."""
        first = "(select chunk.id from chunk where chunk.source = source.id order by ordinal limit 1)"
        rows = self.connection.execute(f"select id, path, content_hash, {first} from source")  # noqa: S608  a query of our own
        return {row[0]: row[1:] for row in rows}

    def counts(self) -> Mapping[str, int]:
        """Sources, chunks, searchable chunks, and how many of these are found by meaning."""
        row = self.connection.execute(
            "select (select count(*) from source), count(*), count(text_hash),"
            " coalesce(sum(is_semantic and text_hash is not null), 0) from chunk"
        ).fetchone()
        return dict(zip(("sources", "chunks", "searchable", "semantic"), row, strict=True))

    # -- notes --------------------------------------------------------------------------------------------------

    def note(self, key: str) -> str:
        """A value kept beside the tables, such as the model's fingerprint; empty where there is none."""
        row = self.connection.execute("select value from note where key = ?", (key,)).fetchone()
        return row[0] if row else ""

    def set_note(self, key: str, value: str) -> None:
        self.connection.execute("insert or replace into note values(?, ?)", (key, value))

    def problems(self) -> list[Problem]:
        """What was wrong with files at the last reindex."""
        rows = self.connection.execute("select path, line, what, remedy, rule from problem order by path, line")
        return [Problem(*row) for row in rows]

    def set_problems(self, problems: Sequence[Problem]) -> None:
        with self.transaction():
            self.connection.execute("delete from problem")
            rows = [(problem.path, problem.line, problem.what, problem.remedy, problem.rule) for problem in problems]
            self.connection.executemany("insert into problem values(?, ?, ?, ?, ?)", rows)

    def generation(self) -> int:
        """A number that changes whenever another connection has changed the file."""
        return int(self.connection.execute("pragma data_version").fetchone()[0])

    def integrity_problems(self) -> list[str]:
        """What SQLite and the keyword indices find wrong with themselves; compares the words with the text. Raises
        sqlite3.OperationalError where another process keeps the file locked.
        """
        found = [row[0] for row in self.connection.execute("pragma quick_check") if row[0] != "ok"]
        for table in ("stems", "words", "bodies"):
            try:
                self.connection.execute(f"insert into {table}({table}, rank) values('integrity-check', 1)")
            except sqlite3.DatabaseError as error:
                if is_locked(error):
                    raise
                found.append(f"{table}: {error}")
        return found


WORD = re.compile(r"\w+")
HEAD_COLUMNS = (  # those of `SourceHead` by their names
    "path",
    "layer",
    "title",
    "date",
    "identity",
    "supersedes",
    *(field.column for field in COLUMNS),
)
LIST_COLUMNS = ("supersedes", *(field.column for field in COLUMNS if field.kind is FilterKind.NAMES))  # as JSON
CHUNK_COLUMNS = (
    "id, chunk_id, source, ordinal, first_line, last_line, headings, passage, context, standing, settled_at,"
    " person_chars, noted, takes_back"
)


def join_keys(keys: Sequence[str]) -> str:
    """Hidden keys as they are kept and embedded: a line each."""
    return "\n".join(keys)


def build_embedded_text(context: str, passage: str, keys: str = "") -> str:
    """What the model reads of a chunk."""
    return f"{context}\n{passage}\n{keys}" if keys else f"{context}\n{passage}"


def is_of_another_format(file: Path) -> bool:
    """Whether another version of the program wrote this ledger; a damaged one is not told apart here."""
    return read_version(file) not in (0, SCHEMA_VERSION)


def _connect(file: Path) -> sqlite3.Connection:
    connection = connect(file)
    try:
        if _version(connection) == 0:
            _make_tables(connection)
        if (version := _version(connection)) != SCHEMA_VERSION:
            raise NeedsRepair(
                f"the indices have format {version}, this program writes {SCHEMA_VERSION}",
                where=file,
                remedy="Run `oneiros reindex --rebuild`",
            )
    except (sqlite3.Error, NeedsRepair):
        connection.close()  # a change under way would keep everybody else from writing
        raise
    return connection


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("pragma user_version").fetchone()[0])


def _make_tables(connection: sqlite3.Connection) -> None:
    try:
        connection.executescript(f"begin immediate; {SCHEMA} pragma user_version = {SCHEMA_VERSION}; commit;")
    except sqlite3.OperationalError:
        if connection.in_transaction:
            connection.execute("rollback")
        if _version(connection) == 0:  # else another thread or process has made them meanwhile
            raise


def _make_damage_error(file: Path, error: sqlite3.Error) -> NeedsRepair:
    damaged = NeedsRepair(f"the ledger is damaged ({error})", where=file, remedy="Run `oneiros reindex --rebuild`")
    return find_refusal(error, file, "the ledger") or damaged


def _make_chunk(row: Sequence[Any]) -> StoredChunk:
    number, chunk_id, source, ordinal, first, last, headings, passage, context, standing, *numbers = row
    return StoredChunk(
        number,
        ChunkId(chunk_id),
        source,
        ordinal,
        LineRange(first, last),
        tuple(json.loads(headings)),
        passage,
        context,
        Standing(standing) if standing else None,
        *numbers,
    )


def _source_head(row: Sequence[Any]) -> SourceHead:
    _, first, last, *values = row
    columns = dict(zip(HEAD_COLUMNS, values, strict=True))
    lists = {column: tuple(json.loads(columns[column])) for column in LIST_COLUMNS}
    columns |= {"layer": Layer(columns["layer"]), "date": _day(columns["date"])}
    columns["interval"] = Interval(_day(first), _day(last))
    return SourceHead(**columns | lists)


def _encode_value(value: object) -> object:
    """A value of a head as its column keeps it."""
    if isinstance(value, tuple):
        return json.dumps(value, ensure_ascii=False)
    return _iso(value) if isinstance(value, dt.date) else value


def _day(text: str | None) -> dt.date | None:
    return dt.date.fromisoformat(text) if text else None


def _unify_text(text: str) -> str | None:
    """A text in its one spelling; None where the keyword index reads the text so by itself."""
    return None if is_spelt_alike(text) else unify(text)


def _iso(day: dt.date | None) -> str | None:
    return day.isoformat() if day else None
