"""How near two clauses stand, and two values in them, by the embedding model that the memory uses anyway.

A token's vector depends on the words around it. So the vectors of two numbers are near where both are numbers of the
same thing, even where it is called by other words.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dream.statements.reading import ClauseReading
from dream.statements.values import Value
from memory_server.embedding.engine import Embedded, Engine, Vectors


@dataclass(frozen=True, slots=True)
class _Embedded:
    whole: Vectors  # (d,), unit length
    values: dict[Value, Vectors]


class ClauseVectors:
    """The vectors of clauses and of the values in them; each clause is embedded once."""

    def __init__(self, engine: Callable[[], Engine]):
        """`engine` is asked when the first clause is embedded: it may load a model."""
        self._engine = engine
        self._known: dict[str, _Embedded] = {}  # by the clause's text

    def between(self, ours: ClauseReading, new: Value, theirs: ClauseReading, old: Value) -> dict[str, float]:
        """The cosines of two clauses and of one value in each, -1 to 1."""
        one, other = self._of(ours), self._of(theirs)
        return {
            "cosine": float(one.whole @ other.whole),
            "slot cosine": float(one.values[new] @ other.values[old]),
        }

    def _of(self, clause: ClauseReading) -> _Embedded:
        if clause.text not in self._known:
            embedded = self._engine().embed([clause.text])[0]
            values = {value: _vector_of(value, embedded) for value in clause.values}
            self._known[clause.text] = _Embedded(embedded.vector, values)
        return self._known[clause.text]


def _vector_of(value: Value, embedded: Embedded) -> Vectors:
    """The mean of a value's tokens, at unit length; the clause's own vector where the model did not read so far."""
    places = [place for place, (first, end) in enumerate(embedded.spans) if first < value.end and end > value.first]
    if not places:
        return embedded.vector
    mean = embedded.tokens[places].mean(axis=0)
    return np.asarray(mean / np.linalg.norm(mean), dtype=np.float32)
