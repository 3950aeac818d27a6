"""A tenant as search reads it, within one transaction: what `Retriever` asks of a ledger, a snapshot and a graph."""

import datetime as dt
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray

from memory_server.document import ChunkId, Layer, LineRange, Standing
from memory_server.embedding.engine import Embedded, Vectors
from memory_server.index.ledger import StoredChunk
from memory_server.index.snapshot import Snapshot
from memory_server.language.words import Stemmer
from memory_server.search.pipeline import Pipeline
from memory_server.search.retrieval import Retriever
from parts.team.engine.heads import Heads
from parts.team.engine.keywords import TeamKeywords, encode_array
from parts.team.engine.loading import unpack_vectors

CHUNK = (
    "id, chunk_id, source, ordinal, first_line, last_line, headings, passage, context, standing, settled_at,"
    " person_chars"
)
# the inner product with the sign changed: vectors are of length 1
NEAR = "select id from embedding where tenant = %s and layer = any(%s) order by vector <#> %s limit %s"
NEAR_BY_GRAPH = (
    "select id from embedding where tenant = %s and layer = any(%s)"
    " order by vector::halfvec({d}) <#> %s::halfvec({d}) limit %s"
)
NEAR_OF_SOURCES = (
    "with named as materialized"
    " (select id, vector from embedding where tenant = %s and layer = any(%s) and source = any(%s))"
    " select id from named order by vector <#> %s limit %s"
)


@dataclass(frozen=True, slots=True)
class TeamLedger:
    """The sources and passages of a tenant; what each method gives, `memory_server.index.ledger.Ledger` says."""

    connection: psycopg.Connection
    tenant: int
    heads: Heads
    keywords: TeamKeywords

    def chunks(self, rows: Sequence[int]) -> Mapping[int, StoredChunk]:
        found = self._chunks("id = any(%s)", encode_array(rows))
        return {chunk.row: chunk for chunk in found}

    def find_chunk(self, source: int, line: int) -> StoredChunk | None:
        found = self._chunks("source = %s and first_line = %s order by ordinal limit 1", source, line)
        return found[0] if found else None

    def last_reply(self, chunk: StoredChunk) -> StoredChunk | None:  # noqa: ARG002
        """None: what was said in sessions stays on the machines of those who said it."""
        return None

    def rows_by_id(self, ids: Sequence[ChunkId]) -> Mapping[ChunkId, int]:
        rows = self.connection.execute(
            "select chunk_id, id from passage where tenant = %s and chunk_id = any(%s)", (self.tenant, list(ids))
        )
        return {ChunkId(name): row for name, row in rows}

    def note(self, key: str) -> str:  # noqa: ARG002
        """Of all that is noted, the scales."""
        return self.heads.note

    def _chunks(self, where: str, *values: object) -> list[StoredChunk]:
        select = f"select {CHUNK} from passage where tenant = %s and {where}"  # noqa: S608  columns and clauses of our own
        return [_make_chunk(row) for row in self.connection.execute(select, (self.tenant, *values))]


@dataclass(frozen=True)
class TeamSnapshot(Snapshot):
    """A snapshot whose vectors and tokens are read from the database, or compared in it, when they are asked for."""

    connection: psycopg.Connection | None = None
    tenant: int = 0
    of_all: Snapshot | None = None  # the one of the heads, which works out once what does not change

    def cosines(self, question: Vectors, places: NDArray[np.int64]) -> NDArray[np.float32]:
        """See `Snapshot`; compared where the vectors are."""
        [(table,)] = self.rows(
            "select string_agg(int4send(id) || float4send(-(vector <#> %s)::float4), '') from embedding"
            " where tenant = %s and id = any(%s)",
            encode_vector(question), self.tenant, encode_array(self.passages.rows[places].tolist()),
        )  # fmt: skip
        compared = np.frombuffer(table or b"", dtype=[("row", ">i4"), ("cosine", ">f4")])
        found = np.zeros(len(self.passages), dtype=np.float32)
        at, is_held = self.passages.look_up(compared["row"])
        found[at] = compared["cosine"][is_held]
        return found[places]

    def read_vectors(self, places: NDArray[np.int64]) -> NDArray[np.float32]:
        return unpack_vectors(self._in_order("vector", places))

    def read_tokens(self, places: NDArray[np.int64]) -> NDArray[np.uint8]:
        signs = self._in_order("signs", places)
        counts = self.passages.token_counts[places]
        total = max(int(counts.sum()), 1)
        return np.frombuffer(b"".join(signs), dtype=np.uint8).reshape(-1, sum(map(len, signs)) // total or 1)

    def reading_order(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        assert self.of_all is not None
        return self.of_all.reading_order(places)

    def _in_order(self, column: str, places: NDArray[np.int64]) -> list[bytes]:
        rows = self.passages.rows[places].tolist()
        select = f"select id, {column} from embedding where tenant = %s and id = any(%s)"  # noqa: S608  a column of ours
        found = dict(self.rows(select, self.tenant, encode_array(rows)))
        return [found[row] for row in rows]

    def rows(self, select: str, *values: object) -> list[tuple[Any, ...]]:
        """What a statement finds, in the transaction of this question."""
        assert self.connection is not None
        found: list[tuple[Any, ...]] = self.connection.execute(select, values, binary=True).fetchall()
        return found


@dataclass(frozen=True, slots=True)
class TeamIndices:
    """What can be searched of a tenant."""

    ledger: TeamLedger
    seen: TeamSnapshot

    def snapshot(self) -> Snapshot:
        return self.seen

    def nearest_rows(
        self, layers: Sequence[Layer], sources: Collection[int] | None, question: Vectors, limit: int
    ) -> list[int] | None:
        """The rows nearest to a question: of named sources exactly, else by a tenant's graph where it has one."""
        vector, tenant = encode_vector(question), self.ledger.tenant
        if sources is not None:
            select = NEAR_OF_SOURCES
            named: tuple[object, ...] = (tenant, list(layers), encode_array(sources), vector, limit)
        else:
            select = NEAR_BY_GRAPH if self.ledger.heads.is_apart else NEAR
            named = (tenant, list(layers), vector, limit)
        return [row for (row,) in self.seen.rows(select.replace("{d}", str(len(question))), *named)]


class NoTypedLines:
    """Of a team's memory the recorder says nothing: sessions are not in it."""

    def find(self, *_: object) -> list[Any]:
        return []

    def of_session(self, *_: object) -> list[Any]:
        return []


def pipeline(
    connection: psycopg.Connection,
    tenant: int,
    heads: Heads,
    cutter: Stemmer,
    stemmer: Stemmer,
    embed_query: Callable[[str], Embedded],
    today: dt.date,
    unread: Callable[[str], str],
) -> Pipeline:
    """The way from a question to an answer, over one tenant and within one transaction.

    `cutter` cuts a question into words, `stemmer` into stems; `unread` as in `Pipeline`.
    """
    base = heads.snapshot
    seen = TeamSnapshot(
        base.passages, base.sources, base.vectors, base.tokens, base.superseded, base.word_tables,
        connection=connection, tenant=tenant, of_all=base,
    )  # fmt: skip
    ledger = TeamLedger(connection, tenant, heads, TeamKeywords(connection, tenant, heads, cutter))
    retriever = Retriever(TeamIndices(ledger, seen), stemmer, embed_query, today=today)
    return Pipeline(retriever, None, None, NoTypedLines(), unread=unread)


def encode_vector(vector: Vectors) -> str:
    """A vector (d,) as PostgreSQL reads it, to the last bit."""
    return "[" + ",".join(map(repr, vector.astype(float).tolist())) + "]"


def _make_chunk(row: Sequence[Any]) -> StoredChunk:
    number, chunk_id, source, ordinal, first, last, headings, passage, context, standing, *numbers = row
    return StoredChunk(
        number, ChunkId(chunk_id), source, ordinal, LineRange(first, last), tuple(headings), passage, context,
        Standing(standing) if standing else None, *numbers,
    )  # fmt: skip
