"""What search looks at: the indices as they were at one moment.

A snapshot is immutable and cheap to share between threads. `Memory` takes a new one when the indices have changed;
searches under way finish on the old one.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory_server.embedding.engine import Vectors
from memory_server.index.ledger import StoredSource
from memory_server.index.passages import Passages


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The indices of one moment."""

    passages: Passages
    sources: Mapping[int, StoredSource]
    vectors: Vectors  # (rows of the cache, d), unit rows, mapped from the file
    tokens: NDArray[np.uint8]  # packed token vectors, mapped from the file

    def cosines(self, question: Vectors, places: NDArray[np.int64]) -> NDArray[np.float32]:
        """The cosine of a question (d,) with each of these passages; 0 where a passage has no vector yet."""
        rows = self.passages.vectors[places]
        known = rows >= 0
        found = np.zeros(len(places), dtype=np.float32)
        if known.mean() > 0.5 and len(places) > len(self.vectors) // 2:
            found[known] = (self.vectors @ question)[rows[known]]  # reading on is quicker than picking most rows
        elif known.any():
            found[known] = self.vectors[rows[known]] @ question
        return found

    def reading_order(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """A number for each of these passages that rises by path and place in the source: what decides between equals.

        Rows of the ledger would not do, since a rebuild numbers them anew.
        """
        keys = [
            (self.sources[int(self.passages.sources[place])].path, int(self.passages.ordinals[place]))
            for place in places
        ]
        ranks = np.empty(len(keys), dtype=np.int64)
        ranks[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
        return ranks
