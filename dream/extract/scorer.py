"""How likely a clause is to hold beyond its session: a linear model over its features and the vector of its words.

The weights come with the program; `benchmarks/dream_scorer.py` makes them and writes into them what they were made of.
They know one embedding model. Where a memory uses another, the features alone decide, by weights of their own.
"""

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from dream.extract.features import MARKS, NAMES, Situation, features_of
from memory_server.embedding.engine import Engine, Vectors
from memory_server.embedding.workers import MAX_BATCH

WEIGHTS = Path(__file__).with_name("weights.json")
OFFERED = 0.6  # the confidence from which a new statement is offered; the model's own threshold is laid upon it
Numbers: TypeAlias = NDArray[np.floating[Any]]
Embed = Callable[[Sequence[str]], Vectors]  # texts as unit rows (n, d)


class ClauseModel(msgspec.Struct, frozen=True):
    """One linear model. Its score, put through the logistic function, is a probability."""

    bias: float
    plain: dict[str, float]  # weight of each feature, by its name
    vector: list[float]  # weight of each dimension; empty where the features alone decide
    threshold: float  # the probability from which a clause is offered

    def probabilities(self, features: Numbers, vectors: Numbers | None = None) -> Numbers:
        """Of clauses by their features (n, f) and vectors (n, d)."""
        scores = features @ np.array([self.plain.get(name, 0.0) for name in NAMES]) + self.bias
        if vectors is not None and self.vector:
            scores = scores + vectors @ np.array(self.vector)
        chances: Numbers = 1 / (1 + np.exp(-scores))
        return chances


class ClauseWeights(msgspec.Struct, frozen=True):
    """Both models as they lie on disk."""

    model: str  # the embedding model that `full` was made with
    made_of: dict[str, str]
    full: ClauseModel
    features_alone: ClauseModel


@functools.cache
def weights() -> ClauseWeights:
    """The weights that come with the program, read when first asked for."""
    return msgspec.json.decode(WEIGHTS.read_bytes(), type=ClauseWeights)


class Scorer:
    """Scores clauses. `embed` gives the vectors of the model that the weights name; without it features decide."""

    def __init__(self, embed: Embed | None = None, model: ClauseModel | None = None):
        self._embed = embed
        self._model = model

    def confidences(self, situations: Sequence[Situation]) -> list[float]:
        """How sure it is of each clause, 0 to 1, such that those worth offering reach `OFFERED`."""
        if not situations:
            return []
        model = self._model or (weights().full if self._embed else weights().features_alone)
        features = np.array([features_of(at) for at in situations])
        vectors = self._embed([at.clause.text for at in situations]) if self._embed else None
        return [_confidence(float(p), model.threshold) for p in model.probabilities(features, vectors)]


def _confidence(probability: float, threshold: float) -> float:
    if probability < threshold:
        return OFFERED * probability / threshold
    return OFFERED + (1 - OFFERED) * (probability - threshold) / (1 - threshold)


def embedder_of(load: Callable[[], Engine]) -> Embed:
    """The vectors of an engine, loaded at the first text; texts of a length together, since one pads the others."""
    loaded = functools.cache(load)

    def embed(texts: Sequence[str]) -> Vectors:
        engine, order = loaded(), sorted(range(len(texts)), key=lambda place: len(texts[place]))
        rows = np.zeros((len(texts), engine.dimensions), dtype=np.float32)
        for first in range(0, len(order), MAX_BATCH):
            batch = order[first : first + MAX_BATCH]
            rows[batch] = [found.vector for found in engine.embed([texts[place] for place in batch])]
        return rows

    return embed


def reasons_of(at: Situation) -> list[str]:
    """What speaks for a clause, the strongest first, in words for a reviewer."""
    speaking = [mark for mark in MARKS if mark.words and mark.pattern.search(at.clause.text)]
    return [mark.words for mark in sorted(speaking, key=lambda mark: -weights().features_alone.plain.get(mark.id, 0.0))]
