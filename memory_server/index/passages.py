"""Where each searchable passage stands: a table of arrays, one row a passage, read at once from the ledger.

Search asks thousands of times a second which source a passage belongs to and where its vectors lie; a database
answers that too slowly. The table is immutable: after a change a new one is read.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memory_server.document import ChunkId, Layer
from memory_server.index.ledger import Ledger, StoredSource

LAYERS = tuple(Layer)


@dataclass(frozen=True, slots=True)
class Passages:
    """All searchable chunks, in the order of their rows in the ledger; every array has a row a passage."""

    rows: NDArray[np.int64]  # of the ledger, rising
    sources: NDArray[np.int64]
    ordinals: NDArray[np.int64]
    layers: NDArray[np.int64]  # ranks, 1 to 4
    vectors: NDArray[np.int64]  # rows of the vector cache; -1 where not embedded yet
    first_tokens: NDArray[np.int64]
    token_counts: NDArray[np.int64]
    lines: NDArray[np.int64]  # the first line of each: pieces of one long line share it
    lengths: NDArray[np.int64]  # in words

    def __len__(self) -> int:
        return len(self.rows)

    def places(self, rows: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
        """The places of ledger rows in this table; rows that it does not hold are left out."""
        return self.look_up(rows)[0]

    def look_up(self, rows: Sequence[int] | NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The places of those ledger rows that this table holds, and for every row whether it does."""
        wanted = np.asarray(rows, dtype=np.int64)
        if len(self) == 0 or wanted.size == 0:
            return np.zeros(0, dtype=np.int64), np.zeros(wanted.size, dtype=np.bool_)
        found = np.minimum(np.searchsorted(self.rows, wanted), len(self) - 1)
        is_held: NDArray[np.bool_] = self.rows[found] == wanted
        return found[is_held], is_held

    def allowed(self, sources: Iterable[int] | None, layers: Sequence[Layer]) -> NDArray[np.bool_]:
        """Which passages belong to one of these sources (None: to any) and layers."""
        mask = np.zeros(len(self), dtype=np.bool_)
        for layer in layers:
            mask |= self.layers == layer.rank
        if sources is not None:
            mask &= np.isin(self.sources, np.fromiter(sources, dtype=np.int64))
        return mask


def read_passages(ledger: Ledger, vector_keys: Path) -> tuple[Passages, Mapping[int, StoredSource]]:
    """The table as the ledger has it now, and the sources of the same moment.

    `ledger` is one that no other thread uses: the key file of the vector cache, `vector_keys`, stays attached to it.
    """
    connection = ledger.connection
    connection.execute("attach database ? as cache", (str(vector_keys),))
    connection.execute("begin")
    found = connection.execute(
        "select chunk.id, chunk.source, chunk.ordinal, source.layer, coalesce(row.vector, -1),"
        " coalesce(row.first_token, 0), coalesce(row.tokens, 0), chunk.first_line, chunk.word_count"
        " from chunk join source on source.id = chunk.source"
        " left join cache.row on cache.row.text_hash = chunk.text_hash"
        " where chunk.text_hash is not null order by chunk.id"
    ).fetchall()
    sources = ledger.stored_sources()
    connection.execute("commit")
    ranks = {layer.value: layer.rank for layer in LAYERS}
    table = np.array([(*row[:3], ranks[row[3]], *row[4:]) for row in found], dtype=np.int64).reshape(-1, 9)
    return Passages(*(np.ascontiguousarray(column) for column in table.T)), sources


def rows_of_ids(ledger: Ledger, ids: Sequence[ChunkId]) -> list[int]:
    """The ledger rows of chunk ids, in their order; unknown ids are left out."""
    found = ledger.rows_by_id(ids)
    return [found[name] for name in ids if name in found]
