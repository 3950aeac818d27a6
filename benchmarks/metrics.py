"""Retrieval metrics as pure functions of a ranking and a set of right answers.

A ranking is a list of ids, best first, without repeats. Every metric is 0 to 1.
"""

import math
import random
from collections.abc import Callable, Mapping, Sequence, Set
from statistics import fmean

Metric = Callable[[Sequence[str], Set[str]], float]


def recall(k: int) -> Metric:
    """The share of the right answers among the first k."""
    return lambda ranking, right: len(right & set(ranking[:k])) / len(right)


def hit(k: int) -> Metric:
    """1 where any right answer is among the first k."""
    return lambda ranking, right: float(bool(right & set(ranking[:k])))


def every(k: int) -> Metric:
    """1 where all right answers are among the first k."""
    return lambda ranking, right: float(right <= set(ranking[:k]))


def reciprocal_rank(ranking: Sequence[str], right: Set[str]) -> float:
    """1 / the place of the first right answer, 0 where there is none."""
    return next((1 / place for place, name in enumerate(ranking, start=1) if name in right), 0.0)


def ndcg(k: int) -> Metric:
    """Normalised discounted cumulative gain with binary gains (Jaervelin and Kekaelaeinen 2002)."""

    def metric(ranking: Sequence[str], right: Set[str]) -> float:
        gained = sum(1 / math.log2(place + 1) for place, name in enumerate(ranking[:k], start=1) if name in right)
        ideal = sum(1 / math.log2(place + 1) for place in range(1, min(k, len(right)) + 1))
        return gained / ideal

    return metric


METRICS: Mapping[str, Metric] = {
    "recall@1": recall(1),
    "recall@5": recall(5),
    "recall@10": recall(10),
    "hit@5": hit(5),
    "hit@10": hit(10),
    "all@5": every(5),
    "mrr": reciprocal_rank,
    "ndcg@10": ndcg(10),
}


def averages(rankings: Sequence[Sequence[str]], right: Sequence[Set[str]]) -> dict[str, float]:
    """The mean of every metric over queries; no query gives zeros."""
    if not rankings:
        return dict.fromkeys(METRICS, 0.0)
    pairs = list(zip(rankings, right, strict=True))
    return {name: fmean(metric(found, wanted) for found, wanted in pairs) for name, metric in METRICS.items()}


def confidence(values: Sequence[float], seed: int = 0, rounds: int = 1_000) -> tuple[float, float]:
    """The 95 % interval of a mean by bootstrap over queries, seeded."""
    if not values:
        return 0.0, 0.0
    dice = random.Random(seed)  # noqa: S311  resampling, not secrecy
    means = sorted(fmean(dice.choices(values, k=len(values))) for _ in range(rounds))
    return means[int(rounds * 0.025)], means[int(rounds * 0.975)]


def with_interval(values: Sequence[float]) -> list[float]:
    """A mean and its 95 % interval."""
    return [fmean(values), *confidence(values)]


def share_with_interval(part: int, whole: int) -> list[float]:
    """A share of few cases and its 95 % interval."""
    return [part / whole, *bound_share(part, whole)]


def bound_share(part: int, whole: int) -> tuple[float, float]:
    """The 95 % interval of a share of few cases, which has a width also where all are alike (Wilson 1927)."""
    square, share = 1.96**2, part / whole
    middle, half = share + square / 2 / whole, 1.96 * math.sqrt(share * (1 - share) / whole + square / 4 / whole**2)
    return max(0.0, (middle - half) / (1 + square / whole)), min(1.0, (middle + half) / (1 + square / whole))


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which a share of the values lies; 0 for none."""
    if not values:
        return 0.0
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(len(ranked) * share))]
