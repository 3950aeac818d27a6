"""A memory's index as it is moved into the rows of a tenant, and compared with them.

The index is made by memory_server in a folder, as that of every memory: what is cut, stemmed and embedded is the same
to the last word. Only what changed is moved: a source whose file has the same hash stays.
"""

import datetime as dt
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import psycopg

from memory_server.index.indices import Indices
from memory_server.index.schema import SCHEMA_VERSION
from memory_server.index.snapshot import Snapshot
from memory_server.layers.topics import read_text
from memory_server.root.paths import MemoryRoot
from memory_server.search.ranking.scoring import CALIBRATION_NOTE
from parts.team.engine.postings import PostingChanges, Text, copy_rows
from parts.team.engine.schema import BLOCK, FILTERED

LAYOUT = ("row", "ordinal", "first_line", "words", "token_vectors", "tokens")  # of a passage; rows count from the first
AT_ONCE = 500  # sources in one statement

Row = tuple[Any, ...]
HEAD: Mapping[str, str] = {  # columns of a source that the ledger has by the same names, with their types here
    **dict.fromkeys(("path", "layer", "title"), "text"),
    "date": "date",
    **FILTERED,
    "supersedes": "text[]",
    "identity": "text",
    **dict.fromkeys(("holds_from", "holds_until"), "date"),
    "content_hash": "text",
}
READ: Mapping[str, Callable[[str | None], Any]] = {  # what the ledger keeps as text
    "date": lambda text: dt.date.fromisoformat(text) if text else None,
    "text[]": lambda text: json.loads(text or "[]"),
}
CHUNK = (
    "id, chunk_id, ordinal, first_line, last_line, headings, context, passage, standing, settled_at, person_chars,"
    " word_count, text_hash is not null"
)
COPIED: Mapping[str, Mapping[str, str]] = {  # columns of what is copied in, with their types
    "source": {
        **dict.fromkeys(("tenant", "id"), "int4"),
        **HEAD,
        **dict.fromkeys(("text", "body"), "text"),
        **dict.fromkeys(("chunks", "tokens", "body_tokens", "first_row"), "int4"),
        "layout": "bytea",
    },
    "passage": {
        **dict.fromkeys(("tenant", "id", "source"), "int4"),
        "chunk_id": "text",
        **dict.fromkeys(("ordinal", "first_line", "last_line"), "int4"),
        "headings": "text[]",
        **dict.fromkeys(("context", "passage", "standing"), "text"),
        **dict.fromkeys(("settled_at", "person_chars"), "int4"),
    },
    "embedding": {
        **dict.fromkeys(("tenant", "id", "source"), "int4"),
        "layer": "text",
        **dict.fromkeys(("vector", "signs"), "bytea"),  # a vector goes in the form that pgvector receives
    },
}


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a change brought: sources in all, those that are new or others than before, those that went."""

    sources: int
    replaced: int
    removed: int
    passages: int  # in all


def load(
    connection: psycopg.Connection, tenant: int, root: MemoryRoot, indices: Indices, model: str, commit: str
) -> Loaded:
    """Brings the rows of a tenant level with an indexed memory, in the transaction of `connection`.

    Call it in a `turn`. `model`: the fingerprint of the one that made the vectors. `commit`: what the memory's files
    are of.
    """
    hashes = {str(path): state.content_hash for path, state in indices.ledger.sources().items()}
    rows = connection.execute("select path, content_hash, id from source where tenant = %s", (tenant,)).fetchall()
    is_same = connection.execute(
        "select made_by = %s from tenant where id = %s", (name_maker(model), tenant)
    ).fetchone()
    stale = {path: number for path, known_hash, number in rows if hashes.get(path) != known_hash or is_same != (True,)}
    fresh = sorted(hashes.keys() - ({path for path, *_ in rows} - stale.keys()))
    changes = PostingChanges(connection, tenant)
    if len(stale) == len(rows):
        _clear(connection, tenant)
    else:
        _remove(connection, tenant, list(stale.values()), changes)
    Writer(connection, tenant, root, indices, changes).write(fresh)
    connection.execute(
        "update tenant set git_rev = %s, generation = generation + 1, calibration = %s, made_by = %s where id = %s",
        (commit, indices.ledger.note(CALIBRATION_NOTE), name_maker(model), tenant),
    )
    passages = connection.execute("select count(*) from embedding where tenant = %s", (tenant,)).fetchone()
    return Loaded(len(hashes), len(fresh), len(stale.keys() - hashes.keys()), passages[0] if passages else 0)


def name_maker(model: str) -> str:
    """What an index is made by: the format of the ledger and the fingerprint of the model."""
    return f"{SCHEMA_VERSION}/{model}"


def differences(connection: psycopg.Connection, tenant: int, indices: Indices) -> list[str]:
    """What of a tenant's rows is not what an indexed memory holds; empty where all is level. Compares every text."""
    found = []
    ledger = indices.ledger.connection
    ours = ledger.execute(
        "select path, content_hash, (select count(*) from chunk where source = source.id) from source"
    )
    theirs = connection.execute("select path, content_hash, chunks from source where tenant = %s", (tenant,))
    here, there = {tuple(row) for row in ours}, {tuple(row) for row in theirs}
    found += [f"{path}: not in the database, or another state of it" for path, *_ in sorted(here - there)]
    found += [f"{path}: in the database alone, or another state of it" for path, *_ in sorted(there - here)]
    ours = ledger.execute("select chunk_id, context, passage from chunk order by chunk_id collate binary")
    theirs = connection.execute(
        'select chunk_id, context, passage from passage where tenant = %s order by chunk_id collate "C"', (tenant,)
    )
    if _hash_rows(ours) != _hash_rows(theirs):
        found.append("the texts of the passages differ")
    vectors = int((indices.snapshot().passages.vectors >= 0).sum())
    counted = connection.execute("select count(*) from embedding where tenant = %s", (tenant,)).fetchone()
    if counted != (vectors,):
        found.append(f"{vectors} passages have vectors, in the database {counted and counted[0]}")
    return found


def _hash_rows(rows: Iterable[Sequence[str]]) -> str:
    hasher = hashlib.sha256()
    for row in rows:
        hasher.update(json.dumps(list(row)).encode())
    return hasher.hexdigest()


def _clear(connection: psycopg.Connection, tenant: int) -> None:
    for table in ("embedding", "posting", "passage", "source"):
        connection.execute(f"delete from {table} where tenant = %s", (tenant,))  # noqa: S608
    connection.execute("update tenant set next_source = 1, next_row = 1 where id = %s", (tenant,))


def _remove(connection: psycopg.Connection, tenant: int, sources: Sequence[int], changes: PostingChanges) -> None:
    for start in range(0, len(sources), AT_ONCE):
        named = (tenant, list(sources[start : start + AT_ONCE]))
        heads = connection.execute("select id, title, body from source where tenant = %s and id = any(%s)", named)
        passages = connection.execute(
            "select id, context, passage from passage where tenant = %s and source = any(%s)", named
        )
        changes.forget(list(heads), list(passages))
        for statement in (
            "delete from embedding where tenant = %s and source = any(%s)",
            "delete from passage where tenant = %s and source = any(%s)",
            "delete from source where tenant = %s and id = any(%s)",
        ):
            connection.execute(statement, named)


@dataclass(frozen=True, slots=True)
class Writer:
    """Copies new sources of an indexed memory in, with numbers that nothing of the tenant has had."""

    connection: psycopg.Connection
    tenant: int
    root: MemoryRoot
    indices: Indices
    changes: PostingChanges

    def write(self, paths: Sequence[str]) -> None:
        """Writes some sources, a block of passages at a time."""
        numbers = "select next_source, next_row from tenant where id = %s for update"
        [(source, row)] = self.connection.execute(numbers, (self.tenant,))
        snapshot = self.indices.snapshot()
        places = dict(zip(snapshot.passages.rows.tolist(), range(len(snapshot.passages)), strict=True))
        gathered: list[Gathered] = []
        for path in paths:
            gathered.append(self._gather(path, source, row, snapshot, places))
            source, row = source + 1, row + len(gathered[-1].passages)
            if sum(len(one.passages) for one in gathered) >= BLOCK:
                self._copy(gathered)
                gathered.clear()
        self._copy(gathered)
        self.connection.execute(
            "update tenant set next_source = %s, next_row = %s where id = %s", (source, row, self.tenant)
        )

    def _gather(
        self, path: str, number: int, first: int, snapshot: Snapshot, place_of: Mapping[int, int]
    ) -> "Gathered":
        """What is written of a source, whose first passage gets the row `first`."""
        ledger = self.indices.ledger.connection
        named = f"select id, body, {', '.join(HEAD)} from source where path = ?"  # noqa: S608  columns of our own
        [(ledger_id, body, *head)] = ledger.execute(named, (path,))
        chunks = ledger.execute(f"select {CHUNK} from chunk where source = ? order by ordinal", (ledger_id,))  # noqa: S608  the same
        found = Gathered(number, first, head, body)
        for row, chunk in enumerate(chunks, start=first):
            ledger_row, chunk_id, ordinal, line, last, headings, *columns, words, is_searchable = chunk
            found.passages.append(
                (self.tenant, row, number, chunk_id, ordinal, line, last, json.loads(headings), *columns)
            )
            place = np.array([place_of[ledger_row]]) if is_searchable else None
            if place is None:
                continue
            signs = snapshot.read_tokens(place)
            found.layout.append([row - first, ordinal, line, words, len(signs)])
            if snapshot.passages.vectors[place[0]] >= 0:
                vector = pack_vector(snapshot.read_vectors(place)[0])
                found.embeddings.append((self.tenant, row, number, head[1], vector, signs.tobytes()))
        return found

    def _copy(self, gathered: Sequence["Gathered"]) -> None:
        texts: list[Text] = [(row[1], row[8], row[9]) for one in gathered for row in one.passages]
        cut = self.changes.add([(one.number, one.head[2], one.body) for one in gathered], texts)
        lengths = dict(zip((row for row, *_ in texts), cut.lengths("w", [row for row, *_ in texts]), strict=True))
        bodies = cut.lengths("b", [one.number for one in gathered])
        sources = []
        for one, body_length in zip(gathered, bodies, strict=True):
            head = [
                READ[kind](value) if kind in READ else value
                for kind, value in zip(HEAD.values(), one.head, strict=True)
            ]
            layout = np.array([[*columns, lengths[one.first + columns[0]]] for columns in one.layout], dtype="<i4")
            sources.append((
                self.tenant, one.number, *head, read_text(self.root.file(head[0])), one.body, len(one.passages),
                sum(lengths[row[1]] for row in one.passages), body_length, one.first, layout.tobytes(),
            ))  # fmt: skip
        self._copy_rows("source", sources)
        self._copy_rows("passage", [row for one in gathered for row in one.passages])
        self._copy_rows("embedding", [row for one in gathered for row in one.embeddings])
        self.changes.write()

    def _copy_rows(self, table: str, rows: Sequence[Row]) -> None:
        copy_rows(self.connection, table, COPIED[table], rows)


@dataclass(frozen=True, slots=True)
class Gathered:
    """A source on its way from the ledger: the rows that it becomes."""

    number: int
    first: int
    head: Sequence[Any]
    body: str
    passages: list[Row] = field(default_factory=list)
    embeddings: list[Row] = field(default_factory=list)
    layout: list[list[int]] = field(default_factory=list)  # of what can be found: LAYOUT without the last


def pack_vector(vector: np.ndarray) -> bytes:
    """A vector (d,) as pgvector receives it: its length, two bytes of nothing, 32-bit floats, all big-endian."""
    return np.array([len(vector), 0], dtype=">i2").tobytes() + vector.astype(">f4").tobytes()


def unpack_vectors(data: Sequence[bytes]) -> np.ndarray:
    """Vectors as pgvector sends them, as an array (n, d)."""
    found = np.frombuffer(b"".join(one[4:] for one in data), dtype=">f4")
    return found.reshape(len(data), len(found) // max(len(data), 1)).astype(np.float32)
