"""What one question says of passages, worked out once however often they are ranked for it."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from memory_server.embedding.engine import Embedded, Vectors
from memory_server.index.snapshot import Snapshot
from memory_server.search.ranking.scoring import Places, compute_matches


@dataclass(slots=True)
class Likeness:
    """How like a question the passages of one moment are."""

    snapshot: Snapshot
    question: Embedded
    _cosines: NDArray[np.float32] = field(init=False)  # with each passage, no number where it was not compared
    _known: NDArray[np.bool_] | None = field(default=None, init=False)  # for each passage whether its tokens were
    _matches: Vectors = field(default_factory=lambda: np.zeros((0, 0), np.float32), init=False)

    def __post_init__(self) -> None:
        self._cosines = np.full(len(self.snapshot.passages), np.nan, dtype=np.float32)

    def cosines(self, places: Places) -> NDArray[np.float32]:
        """The cosines of the question with some passages; 0 where one has no vector yet."""
        new = places[np.isnan(self._cosines[places])]
        if len(new):
            self._cosines[new] = self.snapshot.cosines(self.question.vector, new)
        return self._cosines[places]

    def matches(self, places: Places) -> Vectors:
        """The best match of each token of the question (q, d) in each of some passages, (q, n)."""
        if self._known is None:
            self._known = np.zeros(len(self.snapshot.passages), dtype=np.bool_)
            self._matches = np.empty((len(self._known), len(self.question.tokens)), dtype=np.float32)
        new = places[~self._known[places]]
        self._matches[new], self._known[new] = compute_matches(self.snapshot, self.question.tokens, new).T, True
        return self._matches[places].T
