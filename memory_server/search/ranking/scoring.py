"""What recall computes: how the scores of both arms become one, and late interaction, by which the best are reranked.

Late interaction is a mean over the question's tokens, weighted by rarity, of the best match in a passage or beside it:
the MaxSim of ColBERT (Khattab and Zaharia 2020, eq. 3) as a mean, over the embedder's own token vectors kept as signs.

Names: n passages of one question; `runs` (n,) numbers stretches of passages that follow one another in one source, so
that neighbours can be told from passages that merely stand beside each other in an array. Cosines enter through a
`Scale` only: no constant here depends on a model. All weights are 1 but for one, which `benchmarks.choose` takes
from all sets of data; what it takes without each of them, and the worth of each part, stand in benchmarks/RESULTS.md.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from memory_server.embedding.engine import Embedded, Vectors
from memory_server.index.snapshot import Snapshot
from memory_server.search.ranking.terms import IndexedTerm, rarity

Scores = NDArray[np.float64]
Places = NDArray[np.int64]

K1, B = 1.2, 0.75  # of BM25
NEIGHBOUR_WORDS = (0.5, 0.25)  # share of the counts of words one and two passages away
NEIGHBOUR_MEANING = (0.7, 0.4)  # likewise of scaled cosines
LINE_MEAN = 0.6  # a long line is judged by its pieces' mean too, so that one lucky piece does not win
BEST_OF_SOURCE = 3
LEAST_UNIT = 1e-5  # of a scale, where all cosines are the same
NEIGHBOUR_TOKENS = 0.8  # a match next door counts this much of its excess over the background
SOFT_TOKEN = 0.5  # stop words and marks among the question's tokens
MAX_TOKEN_ROWS = 40_000  # of one question: bounds its time whatever the passages' length

WORDS = 4.0  # of a share of the question's rarity beside a scaled cosine, for the first choice and for whole sources
FUSION_WEIGHTS: Mapping[str, float] = {
    **dict.fromkeys(("meaning", "meaning_near", "time"), 1.0),
    **dict.fromkeys(("words_near", "words_source"), WORDS),
}
RERANK_WEIGHTS: Mapping[str, float] = {
    **dict.fromkeys(("tokens_near", "tokens", "tokens_source", "meaning", "meaning_near", "words_near", "time"), 1.0),
    "words_source": WORDS,
}
NAMED_TIME = 2.0  # what a passage of a time has before others, in units of meaning, where the question names the time
OF_MODELS = ("sparse", "cross")  # features with a weight of 1 that are there where the person turned a model on
CALIBRATION_NOTE = "calibration"
CALIBRATION_FORMAT = "4/"  # before the mark of what is noted, so that scales of another form are learnt anew
TOKENS_A_BLOCK = 256  # 0.4 MB as floats; with twice as many a third slower
EXACT_STEP = np.float32(2.0**-18)  # multiples of it up to 2^6 fit a 32-bit float; 4,096 components add up to no more


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps the cosines of one index to units that mean the same for every model: 0 is a typical unrelated pair."""

    middle: float
    unit: float

    def __call__(self, cosines: NDArray[np.floating]) -> Scores:
        return (np.asarray(cosines, dtype=np.float64) - self.middle) / self.unit


@dataclass(frozen=True, slots=True)
class Calibration:
    """The scales of one index."""

    meaning: Scale  # of cosines of vectors
    tokens: Scale  # of mean token matches
    background: float  # the typical match of one token
    sparse: Scale | None = None  # of what a sparse model scores, where one is on


NEUTRAL = Calibration(Scale(0.0, 1.0), Scale(0.0, 1.0), 0.0)  # of an index that holds nothing


def read_calibration(note: str) -> Calibration:
    """The scales of the last reindex, of what it noted; neutral ones where there was none."""
    if not note:
        return NEUTRAL
    found = json.loads(note)
    if not found["content"].startswith(CALIBRATION_FORMAT):
        return NEUTRAL
    middle, unit, token_middle, token_unit, background, *sparse = found["values"]
    return Calibration(
        Scale(middle, unit), Scale(token_middle, token_unit), background, Scale(*sparse) if sparse else None
    )


def near_sum(values: Scores, runs: Places, shares: Sequence[float]) -> Scores:
    """values (n,) plus the given shares of the passages 1, 2, ... places away in the same run."""
    summed = values.astype(np.float64).copy()
    # each passage gives a share to the one `step` behind it and to the one `step` before it
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


def saturate_counts(counts: Scores, lengths: Scores, mean_length: float) -> Scores:
    """The term part of BM25 (Robertson and Zaragoza 2009, eq. 3.15), 0 to K1 + 1."""
    length_share = 1 - B + B * lengths / max(mean_length, 1e-9)
    return np.asarray(counts * (K1 + 1) / (counts + K1 * length_share), dtype=np.float64)


def best_of_source(scores: Scores, sources: Places) -> Scores:
    """For each passage the mean of the best three passages of its source."""
    # the passages by source and falling score; `back` names the source of each by its place in `sizes`
    order = np.lexsort((-scores, sources))
    _, first, back, sizes = np.unique(sources[order], return_index=True, return_inverse=True, return_counts=True)
    # of each source the first three, their mean, and that mean for all passages of the source
    is_best = np.arange(len(scores)) - first[back] < BEST_OF_SOURCE
    means = np.bincount(back[is_best], scores[order][is_best], len(sizes)) / np.minimum(sizes, BEST_OF_SOURCE)
    spread = np.empty(len(scores))
    spread[order] = means[back]
    return spread


def fuse_scores(features: Mapping[str, Scores], weights: Mapping[str, float]) -> Scores:
    """The weighted sum of the features (n,) that are there and have a weight, and of those of models that are on."""
    parts = [weight * features[name] for name, weight in weights.items() if name in features]
    return np.asarray(np.sum([*parts, *(features[name] for name in OF_MODELS if name in features)], axis=0), np.float64)


def share_in_line(scores: Scores, lines: Places) -> Scores:
    """Scores in which the pieces of one long line, all of them in `lines` (n,), share their mean."""
    _, back, sizes = np.unique(lines, return_inverse=True, return_counts=True)
    means = np.bincount(back, scores) / sizes
    return np.asarray((1 - LINE_MEAN) * scores + LINE_MEAN * means[back], dtype=np.float64)


def token_weights(question: Embedded, terms: Sequence[IndexedTerm], passages: int) -> Scores:
    """The weight of each token of a question (q,), summing to 1: the rarity of its word, shared among its pieces."""
    weights = np.empty(len(question.spans))
    # a piece of a word weighs its share of the word's rarity; a mark between words weighs little
    for place, (first, last) in enumerate(question.spans):
        term = next((term for term in terms if term.first <= first and last <= term.last), None)
        if term is None:
            weights[place] = SOFT_TOKEN * rarity(passages / 2, passages)
            continue
        pieces = sum(term.first <= other <= term.last - 1 for other, _ in question.spans)
        softness = SOFT_TOKEN if term.is_stop else 1.0
        weights[place] = softness * rarity(term.holders, passages) / max(pieces, 1)
    total = weights.sum()
    return weights / total if total > 0 else np.full(len(weights), 1 / max(len(weights), 1))


def compute_matches(snapshot: Snapshot, tokens: Vectors, places: Places) -> Vectors:
    """The best match of each token (q, d) in each of some passages, (q, n); -1 where a passage has no tokens."""
    found = np.full((len(tokens), len(places)), -1.0, dtype=np.float32)
    # only passages with tokens are compared; the others keep -1
    counts = snapshot.passages.token_counts[places]
    held = np.flatnonzero(counts)
    if len(held) == 0 or len(tokens) == 0:
        return found
    sizes = counts[held]
    # where the token rows of each of these passages begin among those of all
    found[:, held] = token_matches(tokens, snapshot.read_tokens(places[held]), np.cumsum(sizes) - sizes)
    return found


def late_scores(matches: Vectors, weights: Scores, runs: Places, background: float) -> tuple[Scores, Scores]:
    """The plain and the near score of each passage, (n,) each, from matches (q, n) of passages in the order of runs.

    `background` is the typical match of an unrelated question; only the excess over it is discounted next door, so that
    a linear map of all cosines cancels.
    """
    damped = background + NEIGHBOUR_TOKENS * (matches - background)
    # a token may be matched by the passage before or behind, where both belong to one run
    near, same = matches.copy(), runs[1:] == runs[:-1]
    near[:, 1:] = np.where(same, np.maximum(near[:, 1:], damped[:, :-1]), near[:, 1:])
    near[:, :-1] = np.where(same, np.maximum(near[:, :-1], damped[:, 1:]), near[:, :-1])
    return weights @ matches, weights @ near


def mutual_match(one: Vectors, other: Vectors, background: float) -> float:
    """How well the tokens of two short texts find partners in each other, 0 to 1.

    one (t, d) and other (u, d) have unit rows; `background` is the match of an unrelated token, which counts 0. MaxSim
    of ColBERT (Khattab and Zaharia 2020, eq. 3) as a mean, both ways, and the geometric mean of the two: a text that
    holds all of a shorter one and much beside it matches less.
    """
    if not len(one) or not len(other):
        return 0.0
    matches = (one @ other.T - background) / (1 - background)
    there, back = matches.max(axis=1).mean(), matches.max(axis=0).mean()
    return float(np.sqrt(max(0.0, there) * max(0.0, back)))


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


def token_matches(question: Vectors, packed: NDArray[np.uint8], starts: NDArray[np.int64]) -> Vectors:
    """How well each token of a question finds a partner in each passage.

    question (q, d) has unit rows; `packed` holds the token rows of all passages one after the other and `starts` (p,)
    the first row of each, rising, none empty. Returns (q, p): the best cosine against the signs, -1 to 1; the same to
    the last bit wherever a passage's rows stand, since rounded components add up to the same in any order.
    """
    dimensions = question.shape[1]
    # rounded components add up to the same in any order
    question = np.rint(question / EXACT_STEP) * EXACT_STEP
    # bits as 0 and 1, in blocks (b, d) that stay in the processor's cache; the sums of what stands where a bit is
    found = np.empty((len(packed), len(question)), dtype=np.float32)
    block = np.empty((TOKENS_A_BLOCK, dimensions), dtype=np.float32)
    for start in range(0, len(packed), TOKENS_A_BLOCK):
        part = packed[start : start + TOKENS_A_BLOCK]
        bits = block[: len(part)]
        bits[...] = np.unpackbits(part, axis=1, count=dimensions)
        np.matmul(bits, question.T, out=found[start : start + len(part)])
    # the best of each passage; a cosine with signs of -1 and 1 is 2 (q . bits) - sum(q), over sqrt(d)
    best = np.maximum.reduceat(found, starts, axis=0).T
    return np.asarray(
        (2.0 * best - question.sum(axis=1, keepdims=True)) / np.float32(np.sqrt(dimensions)), dtype=np.float32
    )
