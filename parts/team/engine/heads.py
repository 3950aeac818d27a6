"""What search keeps in memory of a tenant: the heads of its sources and where each passage stands.

Some fifty bytes a passage, read when a question finds that the tenant's generation has changed; texts, vectors and
postings stay in the database.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import psycopg

from memory_server.document import Interval, Layer, SourceHead
from memory_server.index.ledger import HEAD_COLUMNS, LIST_COLUMNS
from memory_server.index.snapshot import Passages, Snapshot, WordTables, find_superseded
from parts.team.engine.loading import LAYOUT
from parts.team.engine.schema import BLOCK
from parts.team.errors import NotFound

MOST_PASSAGES = 2_000_000  # of all tenants whose heads are kept; the longest unused goes first
MOST_TABLE_BYTES = 8_000_000  # of the words of a tenant's last questions
COLUMNS = f"id, holds_from, holds_until, chunks, tokens, body_tokens, first_row, layout, {', '.join(HEAD_COLUMNS)}"


@dataclass(frozen=True)
class Heads:
    """A tenant as it was at one generation."""

    generation: int
    note: str  # of its scales
    made_by: str
    is_apart: bool  # its vectors have a graph of their own
    snapshot: Snapshot  # without vectors and tokens
    lengths: np.ndarray  # words of each passage as the keyword index counts them
    body_lengths: Mapping[int, int]  # of each source
    chunks: int  # passages, those that cannot be found too
    tokens: int  # words of all of them

    @cached_property
    def blocks(self) -> list[int]:
        """The blocks in which postings of the tenant stand, of passages and of sources."""
        numbers = np.concatenate([self.snapshot.passages.rows, np.fromiter(self.snapshot.sources, dtype=np.int64)])
        return [int(block) for block in np.unique(numbers // BLOCK)]


class HeadsCache:
    """The heads of the tenants that were asked last. Safe to share between threads."""

    def __init__(self, most_passages: int = MOST_PASSAGES):
        self._most = most_passages
        self._guard = threading.Lock()
        self._cached: OrderedDict[int, Heads] = OrderedDict()

    def load(self, connection: psycopg.Connection, tenant: int) -> Heads:
        """The heads of a tenant as the transaction of `connection` sees it. Raises NotFound where it was purged."""
        row = connection.execute(
            "select generation, calibration, made_by, is_apart from tenant where id = %s", (tenant,)
        ).fetchone()
        if row is None:
            raise NotFound("there is no such memory")
        with self._guard:
            if (cached := self._cached.get(tenant)) is not None and cached.generation == row[0]:
                self._cached.move_to_end(tenant)
                return cached
        found = read_heads(connection, tenant, row)
        with self._guard:
            self._cached[tenant] = found
            self._cached.move_to_end(tenant)
            while len(self._cached) > 1 and sum(len(one.lengths) for one in self._cached.values()) > self._most:
                self._cached.popitem(last=False)
        return found


def read_heads(connection: psycopg.Connection, tenant: int, state: tuple[int, str, str, bool]) -> Heads:
    """Reads the heads of all sources of a tenant. `state`: generation, scales, maker and whether it is apart."""
    sources: dict[int, SourceHead] = {}
    body_lengths, tables = dict[int, int](), []
    chunks = tokens = 0
    rows = connection.execute(f"select {COLUMNS} from source where tenant = %s order by id", (tenant,), binary=True)  # noqa: S608  columns of our own
    for number, first, last, held, words, body, row, layout, *values in rows:
        head = dict(zip(HEAD_COLUMNS, values, strict=True))
        lists = {column: tuple(head[column]) for column in LIST_COLUMNS}
        head |= {"layer": Layer(head["layer"]), "interval": Interval(first, last)}
        sources[number] = SourceHead(**head | lists)
        body_lengths[number] = body
        chunks, tokens = chunks + held, tokens + words
        table = np.frombuffer(layout, dtype="<i4").reshape(-1, len(LAYOUT)).astype(np.int64)
        of_source = np.full((len(table), 2), (number, head["layer"].rank))
        tables.append(np.hstack([table, of_source]) + np.array([row, 0, 0, 0, 0, 0, 0, 0]))
    whole = np.vstack([np.zeros((0, len(LAYOUT) + 2), dtype=np.int64), *tables])
    columns = np.ascontiguousarray(whole.T)
    passages = Passages(
        rows=columns[0],
        sources=columns[6],
        ordinals=columns[1],
        layers=columns[7],
        vectors=np.where(columns[4] >= 0, np.arange(len(whole)), -1),
        first_tokens=np.zeros(len(whole), dtype=np.int64),
        token_counts=columns[4],
        lines=columns[2],
        lengths=columns[3],
    )
    nothing = np.zeros((0, 0))
    snapshot = Snapshot(
        passages, sources, nothing.astype(np.float32), nothing.astype(np.uint8), find_superseded(sources),
        WordTables(MOST_TABLE_BYTES),
    )  # fmt: skip
    return Heads(*state, snapshot, columns[5], body_lengths, chunks, tokens)
