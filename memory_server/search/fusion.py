"""How the scores of both arms become one, as pure functions of arrays.

Names: n passages of one question; `runs` (n,) numbers stretches of passages that follow one another in one source, so
that neighbours can be told from passages that merely stand beside each other in an array. Cosines enter through a
`Scale` only: no constant here depends on a model. The weights were set by hand near the flat optimum of a coordinate
search over four kinds of data at once; the worth of each part stands in benchmarks/RESULTS.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]
Places = NDArray[np.int64]

K1, B = 1.2, 0.75  # of BM25
NEIGHBOUR_WORDS = (0.5, 0.25)  # share of the counts of words one and two passages away
NEIGHBOUR_MEANING = (0.7, 0.4)  # likewise of scaled cosines
LINE_MEAN = 0.6  # a long line is judged by its pieces' mean too, so that one lucky piece does not win
BEST_OF_SOURCE = 3
LEAST_UNIT = 1e-5  # of a scale, where all cosines are the same

FIRST_LOOK: Mapping[str, float] = {"words_near": 3.0, "words_source": 3.0, "meaning": 0.8, "meaning_near": 0.5}
SECOND_LOOK: Mapping[str, float] = {
    "tokens_near": 0.75,
    "tokens": 0.6,
    "tokens_source": 0.4,
    "meaning": 0.6,
    "meaning_near": 0.5,
    "words_near": 1.0,
    "words_source": 3.0,
}


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps the cosines of one index to units that mean the same for every model: 0 is a typical unrelated pair."""

    middle: float
    unit: float

    def __call__(self, cosines: NDArray[np.floating]) -> Scores:
        return (np.asarray(cosines, dtype=np.float64) - self.middle) / self.unit


def learn_scale(typical: NDArray[np.floating], best: NDArray[np.floating]) -> Scale:
    """The scale of an index from what unrelated probe questions score in it.

    typical (probes, n): scores of passages that stand for all; best (probes,): the highest score of each probe.
    The unit is half the distance to the best unrelated passage, which grows with the index, and half three standard
    deviations, which do not. A linear map of all cosines cancels exactly. In whatever order the passages come, sorted
    they add up to the same sum.
    """
    middle = float(np.median(typical))
    spread = float(np.sort(typical, axis=None).std(dtype=np.float64))
    return Scale(middle, max(LEAST_UNIT, 0.5 * (float(np.median(best)) - middle) + 1.5 * spread))


def near_sum(values: Scores, runs: Places, shares: Sequence[float]) -> Scores:
    """values (n,) plus the given shares of the passages 1, 2, ... places away in the same run."""
    summed = values.astype(np.float64).copy()
    for step, share in enumerate(shares, start=1):
        if len(values) <= step:
            break
        same = runs[step:] == runs[:-step]
        summed[step:] += share * values[:-step] * same
        summed[:-step] += share * values[step:] * same
    return summed


def near_mean(scores: Scores, runs: Places) -> Scores:
    """The weighted mean of each passage's score and its neighbours': stands in for embedding them together."""
    weights = near_sum(np.ones(len(scores)), runs, NEIGHBOUR_MEANING)
    return np.asarray(near_sum(scores, runs, NEIGHBOUR_MEANING) / weights, dtype=np.float64)


def saturated(counts: Scores, lengths: Scores, mean_length: float) -> Scores:
    """The term part of BM25 (Robertson and Zaragoza 2009, eq. 3.15), 0 to K1 + 1."""
    length_share = 1 - B + B * lengths / max(mean_length, 1e-9)
    return np.asarray(counts * (K1 + 1) / (counts + K1 * length_share), dtype=np.float64)


def best_of_source(scores: Scores, sources: Places) -> Scores:
    """For each passage the mean of the best three passages of its source."""
    order = np.lexsort((-scores, sources))
    _, first, back, sizes = np.unique(sources[order], return_index=True, return_inverse=True, return_counts=True)
    kept = np.arange(len(scores)) - first[back] < BEST_OF_SOURCE
    means = np.bincount(back[kept], scores[order][kept], len(sizes)) / np.minimum(sizes, BEST_OF_SOURCE)
    spread = np.empty(len(scores))
    spread[order] = means[back]
    return spread


def fused(features: Mapping[str, Scores], weights: Mapping[str, float]) -> Scores:
    """The weighted sum of the features (n,) that a look uses."""
    return np.asarray(np.sum([weight * features[name] for name, weight in weights.items()], axis=0), dtype=np.float64)


def shared_in_line(scores: Scores, lines: Places) -> Scores:
    """Scores in which the pieces of one long line, all of them in `lines` (n,), share their mean."""
    _, back, sizes = np.unique(lines, return_inverse=True, return_counts=True)
    means = np.bincount(back, scores) / sizes
    return np.asarray((1 - LINE_MEAN) * scores + LINE_MEAN * means[back], dtype=np.float64)
