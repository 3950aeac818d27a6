"""Recall's ranking: the scores of both arms fused, the best of it reranked, and whether to answer.

Everything is computed on a small set of places: what the arms propose, its neighbours, and the other pieces of long
lines. The cost does not grow with the memory beyond that of the arms.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from memory_server.index.snapshot import Snapshot, sort_distinct
from memory_server.language.times import Time
from memory_server.search.ranking.arms import Nearest, Scope, WordScores, best_first, number_runs, with_neighbours
from memory_server.search.ranking.scoring import (
    FUSION_WEIGHTS,
    LEAST_UNIT,
    MAX_TOKEN_ROWS,
    NAMED_TIME,
    NEIGHBOUR_MEANING,
    RERANK_WEIGHTS,
    Calibration,
    Likeness,
    Places,
    Scores,
    best_of_source,
    fuse_scores,
    late_scores,
    near_mean,
    share_in_line,
)

ARM_HITS = 200  # each arm proposes so many
SOURCES_BY_WORDS = 20  # and the words of whole sources propose so many, each with its
PASSAGES_OF_SOURCE = 3  # passages nearest to the question
POOL = 60  # passages that are looked at a second time, whichever sources they are of
POOL_SOURCES = 40  # and as many sources beside theirs with the best passage of each
FLOOR = 0.5  # confidence below which an answer is no more than a perhaps
SILENCE = 0.03  # confidence below which nothing is said; see the curve in benchmarks/RESULTS.md
MOST_EXPONENT = 700.0  # of e, as a float holds it
EVEN, STEEPNESS = 3.0, 4.0  # the logistic curve of confidence over its score, in units of the unrelated
JUDGED = ("meaning", "meaning_near", "tokens_near", "sparse")  # the scores whose best tell whether there is an answer
COVERED = 1.3  # units of confidence that a passage gives which holds every word of the question
TIE = 9  # decimals beyond which two scores are equal
SHORT_QUESTION = 2  # content words: a name that stands there as asked is an answer, whatever its score


@dataclass(frozen=True, slots=True)
class Pool:
    """The best of what was retrieved, rising, with what each part says of it."""

    places: Places
    features: Mapping[str, Scores]  # (n,) each, in the order of places


@dataclass(frozen=True, slots=True)
class Ranking:
    """Passages by relevance, best first."""

    places: Places
    scores: Scores  # fused; comparable within one question only
    confidence: float  # the probability that the memory answers the question at all
    features: Mapping[str, Scores]  # what each part contributed, (n,) each, in the order of places


NOTHING = Ranking(np.zeros(0, dtype=np.int64), np.zeros(0), 0.0, {})


@dataclass(frozen=True, slots=True)
class Ranker:
    """Ranks passages for one question."""

    likeness: Likeness
    calibration: Calibration
    scope: Scope
    words: WordScores
    weights: Scores  # of the question's tokens, summing to 1
    last_weights: Mapping[str, float] = field(default_factory=lambda: RERANK_WEIGHTS)  # of the features, when reranked
    sparse: Scores | None = None  # what a sparse model scores for every passage, scaled; None where none is on
    times: Sequence[Time] = ()  # that the question names

    @property
    def snapshot(self) -> Snapshot:
        """The indices in which it ranks."""
        return self.likeness.snapshot

    def fuse(self, semantic: Nearest) -> Pool:
        """The best of what both arms propose, by the scores of both. `semantic`: what the semantic arm proposed."""
        proposed = self._propose(semantic)
        if len(proposed) == 0:
            return Pool(proposed, {})
        # neighbours and the other pieces of long lines have a say, and may win
        around = self.snapshot.passages.whole_lines(with_neighbours(self.snapshot, proposed, len(NEIGHBOUR_MEANING)))
        features = self._first_features(around)
        scores = share_in_line(fuse_scores(features, FUSION_WEIGHTS), self.snapshot.passages.line_numbers[around])
        pooled = self._pool(scores, around)
        return Pool(around[pooled], {name: values[pooled] for name, values in features.items()})

    def rerank(self, pool: Pool) -> Ranking:
        """The pool in order, by its token matches too."""
        if len(pool.places) == 0:
            return NOTHING
        return self.order(Pool(pool.places, {**pool.features, **self._second_features(pool.places)}), self.last_weights)

    def order(self, pool: Pool, weights: Mapping[str, float] = FUSION_WEIGHTS) -> Ranking:
        """The pool in the order of its features under some weights."""
        if len(pool.places) == 0:
            return NOTHING
        places, features = pool.places, pool.features
        # pieces of one line share their mean; equals stand by their own score, then in the order of reading
        scores = fuse_scores(features, weights)
        final = share_in_line(scores, self.snapshot.passages.line_numbers[places])
        order = np.lexsort((self.snapshot.reading_order(places), -scores.round(TIE), -final.round(TIE)))
        # neighbours that may not answer had a say and leave here
        order = order[self.scope.mask[places[order]]]
        by_words = "meaning" not in weights
        order = order[scores[order] > 0] if by_words else order  # without a word of the question it is no answer
        return Ranking(
            places[order],
            final[order],
            self._measure_coverage(places) if by_words else self._confidence(features, places),
            {name: values[order] for name, values in features.items()},
        )

    def add_cross_scores(self, ranking: Ranking, scores: Scores) -> Ranking:
        """A ranking whose first passages a cross-encoder read with the question. `scores`: what it says of them.

        They count in units of their spread; a passage that was not read counts as the worst that was.
        """
        if len(scores) == 0:
            return ranking
        units = (scores - scores.mean()) / max(float(scores.std()), LEAST_UNIT)
        cross = np.concatenate([units, np.full(len(ranking.places) - len(units), units.min())])
        final = ranking.scores + cross
        order = np.argsort(-final.round(TIE), kind="stable")
        features = {name: values[order] for name, values in {**ranking.features, "cross": cross}.items()}
        return Ranking(ranking.places[order], final[order], ranking.confidence, features)

    def _propose(self, semantic: Nearest) -> Places:
        """What either arm and the words of whole sources propose, rising."""
        # the passages that score best by words, among those that may answer
        is_allowed = self.scope.mask[self.words.places]
        touched = self.words.places[is_allowed]
        by_words = touched[best_first(self.words.near[is_allowed], touched, ARM_HITS)]
        proposed = [semantic.places, by_words, *self._propose_by_sources(), *self._by_sparse()]
        return sort_distinct(np.concatenate(proposed))

    def _by_sparse(self) -> list[Places]:
        """The passages that score best by a sparse model, where one is on, among those that may answer."""
        if self.sparse is None:
            return []
        places = np.flatnonzero(self.scope.mask)
        return [places[best_first(self.sparse[places], places, ARM_HITS)]]

    def _propose_by_sources(self) -> list[Places]:
        """The passages nearest to the question in each of the sources that its words fit best."""
        passages, scores = self.snapshot.passages, self.words.of_source
        # the sources of which a passage may answer and that hold a word
        may_answer = np.zeros(len(scores), dtype=np.bool_)
        may_answer[passages.sources[self.scope.mask]] = True
        sources = np.flatnonzero(may_answer & (scores > 0))
        best = sources[best_first(scores[sources], sources, SOURCES_BY_WORDS)].tolist()
        if not best:
            return []
        # the passages of each, all compared at once
        bounds = [passages.source_bounds[source] for source in best]
        each = [np.arange(first, end)[self.scope.mask[first:end]] for first, end in bounds]
        cosines = np.split(self.likeness.cosines(np.concatenate(each)), np.cumsum([len(one) for one in each])[:-1])
        return [one[best_first(near, one, PASSAGES_OF_SOURCE)] for one, near in zip(each, cosines, strict=True)]

    def _first_features(self, places: Places) -> dict[str, Scores]:
        meaning = self.calibration.meaning(self.likeness.cosines(places))
        of_models = {} if self.sparse is None else {"sparse": self.sparse[places]}
        of_time = {"time": self._in_time(places)} if self.times else {}
        always = {
            "words_near": self.words.read_near(places),
            "words_source": self.words.of_source[self.snapshot.passages.sources[places]],
            "meaning": meaning,
            "meaning_near": near_mean(meaning, number_runs(self.snapshot, places)),
        }
        return of_models | of_time | always

    def _in_time(self, places: Places) -> Scores:
        """NAMED_TIME for each passage of a source whose date lies in a time that the question names, else 0."""
        sources, back = np.unique(self.snapshot.passages.sources[places], return_inverse=True)
        dates = [self.snapshot.sources[number].date for number in sources.tolist()]
        held = [date is not None and any(time.holds(date) for time in self.times) for date in dates]
        return NAMED_TIME * np.array(held, dtype=np.float64)[back]

    def _pool(self, scores: Scores, around: Places) -> Places:
        """The best of what may answer, with all pieces of its lines, up to a bounded number of tokens; as indices."""
        mask = self.scope.mask[around]
        # the best passages, then the best of each source that has none among them
        candidates = np.flatnonzero(mask)
        order = candidates[best_first(scores[candidates], around[candidates], len(candidates))]
        _, firsts = np.unique(self.snapshot.passages.sources[around[order]], return_index=True)
        order = np.concatenate([order[:POOL], order[np.sort(firsts[firsts >= POOL])[:POOL_SOURCES]]])
        # cut where their tokens would take too long to compare
        tokens = np.cumsum(self.snapshot.passages.token_counts[around[order]])
        best = order[: max(1, int(np.searchsorted(tokens, MAX_TOKEN_ROWS // 2)))]
        # a line is in the pool with all its pieces
        lines = self.snapshot.passages.line_numbers[around]
        return np.flatnonzero(np.isin(lines, lines[best]) & mask)

    def _second_features(self, pool: Places) -> dict[str, Scores]:
        # matches (tokens, passages) of the pool and its neighbours, which lend each other their matches
        around = with_neighbours(self.snapshot, pool, 1)
        matches = self.likeness.matches(around)
        runs = number_runs(self.snapshot, around)
        plain, near = late_scores(matches, self.weights, runs, self.calibration.background)
        at = np.searchsorted(around, pool)
        tokens_near = self.calibration.tokens(near[at])
        return {
            "tokens": self.calibration.tokens(plain[at]),
            "tokens_near": tokens_near,
            "tokens_source": best_of_source(tokens_near, self.snapshot.passages.sources[pool]),
        }

    def _confidence(self, features: Mapping[str, Scores], pool: Places) -> float:
        """How likely the memory answers the question, from the best of each kind of score.

        The curve was fitted to questions that a memory answers and to those of others; see `benchmarks.silence`.
        """
        found = np.mean([features[name].max() for name in JUDGED if name in features])
        lacking = STEEPNESS * (EVEN - found - COVERED * self._measure_coverage(pool))
        likely = float(1 / (1 + np.exp(min(lacking, MOST_EXPONENT))))
        content = [term for term in self.words.terms if not term.is_stop]
        is_short = 0 < len(content) <= SHORT_QUESTION and self._measure_coverage(pool) > 0.999
        return max(FLOOR, likely) if is_short else likely

    def _measure_coverage(self, pool: Places) -> float:
        """The share of the question's words, by rarity, that one place holds, of those that the memory knows."""
        return float(self.words.read_covered(pool).max()) * self.words.known
