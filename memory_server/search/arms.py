"""The two ways of finding passages, each behind the same question: a query, a filter as data, a limit.

An arm answers with places in the snapshot's table and scores of its own scale; what they mean beside each other is
the business of `fusion.py`. Nothing here knows layers' precedence or how a hit is shown.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory_server.document import ChunkId, Layer
from memory_server.embedding.engine import Vectors
from memory_server.index.snapshot import Snapshot

NearestIds = Callable[[Layer, Vectors, int], list[ChunkId] | None]
RowsOfIds = Callable[[Sequence[ChunkId]], list[int]]

OVERFETCH = 100  # beyond the limit: the graph is approximate, the order of what it returns is made exact afterwards


@dataclass(frozen=True, slots=True)
class Found:
    """What an arm found, best first: places in the table of passages, and a score each."""

    places: NDArray[np.int64]
    scores: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class SemanticArm:
    """Nearest vectors: by the graph where every passage of a layer may answer, else by an exact scan."""

    nearest: NearestIds  # answers None where another process owns the graph: then the scan is exact
    rows_of_ids: RowsOfIds

    def find(
        self, snapshot: Snapshot, question: Vectors, layers: Sequence[Layer], sources: set[int] | None, limit: int
    ) -> Found:
        """The `limit` passages nearest to a question (d,), by cosine."""
        asked = [self.nearest(layer, question, limit + OVERFETCH) for layer in layers] if sources is None else [None]
        ids = [name for answer in asked if answer is not None for name in answer]
        if None in asked:
            places = np.flatnonzero(snapshot.passages.allowed(sources, layers) & (snapshot.passages.vectors >= 0))
        else:
            places = snapshot.passages.places(self.rows_of_ids(ids))
        cosines = snapshot.cosines(question, places) if len(places) else np.zeros(0, np.float32)
        order = best_first(cosines, places, limit)
        return Found(places[order], cosines[order])


def best_first(scores: NDArray[np.float32], places: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
    """The indices of the `limit` highest scores, highest first; of equals the one that stands first."""
    if len(scores) > 4 * limit:
        least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        chosen = np.flatnonzero(scores >= least)
    else:
        chosen = np.arange(len(scores))
    return chosen[np.lexsort((places[chosen], -scores[chosen]))][:limit]
