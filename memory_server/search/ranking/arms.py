"""The two ways of finding passages: by words and by meaning.

An arm takes what is asked and a filter as data, and answers with places in the snapshot's table and scores of its own.
What these mean beside each other is the business of `scoring.py`; nothing here knows precedence or how a hit is shown.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory_server.document import Layer
from memory_server.embedding.engine import Vectors
from memory_server.index.keywords import Keywords
from memory_server.index.snapshot import Snapshot
from memory_server.search.ranking.scoring import NEIGHBOUR_WORDS, Likeness, Places, Scores, near_sum, saturate_counts
from memory_server.search.ranking.terms import IndexedTerm, rarity, read_postings, select_terms

NearestRows = Callable[[Sequence[Layer], Collection[int] | None, Vectors, int], list[int] | None]

OVERFETCH = 100  # beyond the limit: the graph is approximate, the order of what it returns is made exact afterwards
MAX_SOURCE_ROWS = 10_000  # rows read for the words of whole sources, the rarest words first
TIE = 6  # decimals beyond which two cosines are equal
UNKNOWN_WORD = 0.5  # of a name's weight: an unknown name tells that nobody spoke of it, a word may have a synonym
FEW_SOURCES = 10  # with so few, the words of whole sources tell little apart


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """Which passages of a snapshot may answer a question; see `make_scope`."""

    layers: tuple[Layer, ...]
    sources: frozenset[int] | None  # None: every source of these layers
    mask: NDArray[np.bool_]  # for each passage whether it may answer


def make_scope(snapshot: Snapshot, layers: tuple[Layer, ...], sources: frozenset[int] | None) -> Scope:
    """The passages of some layers; where `sources` are given, of these alone."""
    return Scope(layers, sources, snapshot.passages.find_allowed(sources, layers))


@dataclass(frozen=True, slots=True)
class Nearest:
    """What an arm found, best first: places in the table of passages, and a score each."""

    places: Places
    scores: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class SemanticArm:
    """Nearest vectors: by the graph where every passage of a layer may answer, else by a scan."""

    nearest: NearestRows  # answers None where there is no graph, or another process owns it: then the scan is exact

    def find(self, likeness: Likeness, scope: Scope, limit: int) -> Nearest:
        """The `limit` passages nearest to a question, by cosine."""
        snapshot, question = likeness.snapshot, likeness.question.vector
        # candidates, by a graph where there is one that knows the filter, else by a scan
        rows = self.nearest(scope.layers, scope.sources, question, limit + OVERFETCH)
        if rows is None:
            places = np.flatnonzero(scope.mask & (snapshot.passages.vectors >= 0))
        else:
            places = snapshot.passages.places(rows)
            places = places[snapshot.passages.vectors[places] >= 0]  # the scan finds none without a vector either
        # their exact cosines (n,), and the best of them; equals stand in the order of reading
        cosines = likeness.cosines(places)
        chosen = best_first(cosines, places, limit)
        reading = snapshot.reading_order(places[chosen])
        order = chosen[np.lexsort((reading, -cosines[chosen].round(TIE)))]
        return Nearest(places[order], cosines[order])


@dataclass(frozen=True, slots=True)
class WordScores:
    """What the words of a question score: on the passages they touch, and on whole sources."""

    places: Places  # rising: passages that hold a word or stand near one that does
    near: Scores  # BM25 over a passage and its neighbours, as a share of the question's rarity, 0 to 2.2
    covered: Scores  # share of the question's rarity that a passage, its context and its neighbours hold, 0 to 1
    known: float  # share of the question's rarity that the memory holds at all, 0 to 1
    of_source: Scores  # by the number of a source: its BM25 as a whole, as a share of the question's rarity, 0 to 2.2
    terms: tuple[IndexedTerm, ...]  # the words that were looked up

    def read_near(self, places: Places) -> Scores:
        """The near scores of some passages; 0 where no word touches them."""
        return _read_values(self.places, self.near, places)

    def read_covered(self, places: Places) -> Scores:
        """The covered shares of some passages; 0 where no word touches them."""
        return _read_values(self.places, self.covered, places)


@dataclass(frozen=True, slots=True)
class KeywordArm:
    """The rarest stems of a question, looked up in the keyword index."""

    keywords: Keywords

    def find(self, snapshot: Snapshot, terms: Sequence[IndexedTerm]) -> WordScores:
        """What the words of a question score, whichever passages may answer."""
        total = max(len(snapshot.passages), 1)
        # the rarity of the words that are known, of those that are not, and of all that are looked up
        postings = read_postings(lambda stem: self._places(snapshot, stem), select_terms(terms, total))
        content = {term.stem: term for term in terms if not term.is_stop}
        known = sum(rarity(term.holders, total) for term in content.values() if term.holders)
        unknown = sum(
            rarity(0, total) * (1.0 if term.is_name else UNKNOWN_WORD) for term in content.values() if not term.holders
        )
        mass = max(known, sum(rarity(term.holders, total) for term, _ in postings), 1e-9)
        # the passages with a word and their neighbours (n,), and for each passage its index among them
        touched, runs = _find_touched(snapshot, [table.places for _, table in postings])
        index_of = np.zeros(total, dtype=np.int64)
        index_of[touched] = np.arange(len(touched))
        # lengths in words, of a passage and its neighbours: what BM25 divides by
        lengths = snapshot.passages.lengths
        near_lengths = near_sum(lengths[touched].astype(np.float64), runs, NEIGHBOUR_WORDS)
        mean_length = float(lengths.mean() * (1 + 2 * sum(NEIGHBOUR_WORDS))) if len(lengths) else 1.0
        # each word adds its weight, by how often it stands in a passage and beside it
        near, covered = np.zeros(len(touched)), np.zeros(len(touched))
        for term, table in postings:
            at = index_of[table.places]
            counts, beside = np.zeros(len(touched)), np.zeros(len(touched))
            counts[at], beside[at] = table.in_passage, table.in_context
            counts = near_sum(counts, runs, NEIGHBOUR_WORDS)
            weight = rarity(term.holders, total)
            near += weight * saturate_counts(counts, near_lengths, mean_length)
            covered += weight * ((counts + beside) > 0)
        return WordScores(
            places=touched,
            near=near / mass,
            covered=covered / mass,
            known=known / max(known + unknown, 1e-9),
            of_source=self._of_sources(snapshot, terms),
            terms=tuple(term for term, _ in postings),
        )

    def _of_sources(self, snapshot: Snapshot, terms: Sequence[IndexedTerm]) -> Scores:
        """By the number of each source its BM25 by all words of the question as written.

        Stop words count too: "how" marks a page of answers. FTS5 gives idf times the saturated count of a word; its
        idf, which drops to nothing for frequent words, is taken out again and replaced by one that stays above 0.
        """
        total = len(snapshot.sources)
        # the rarest first: the rows of frequent words are not read once MAX_SOURCE_ROWS are
        words = {term.word.casefold() for term in terms}
        counted = [(self._holders(snapshot, word), word) for word in words]
        scores = np.zeros(max(snapshot.sources, default=0) + 1)
        mass, rows_read = 0.0, 0
        for holders, word in sorted(counted):
            weight = rarity(holders, total)
            mass += weight
            rows_read += holders
            if holders == 0 or rows_read > MAX_SOURCE_ROWS:
                continue
            # rows (n, 2) of source and FTS5's bm25, below 0: divided by its idf it is the saturated count; by now
            # more may hold the word than the snapshot has sources
            idf = max(float(np.log((max(total - holders, 0) + 0.5) / (holders + 0.5))), 1e-6)
            table = snapshot.word_tables.get("body", word, self.keywords.in_sources)
            table = table[table[:, 0] < len(scores)]  # a source that is newer than the snapshot
            scores[table[:, 0].astype(np.int64)] -= weight * table[:, 1] / idf
        return np.asarray(scores * (total / (total + FEW_SOURCES) / max(mass, 1e-9)), dtype=np.float64)

    def _places(self, snapshot: Snapshot, stem: str) -> NDArray[np.int64]:
        def read(stem: str) -> NDArray[np.int64]:
            table = self.keywords.occurrences(stem)
            places, is_held = snapshot.passages.look_up(table[:, 0])
            return np.column_stack([places, table[is_held, 1:]])

        return snapshot.word_tables.get("stem", stem, read)

    def _holders(self, snapshot: Snapshot, word: str) -> int:
        read = self.keywords.source_holders
        return int(snapshot.word_tables.get("holders", word, lambda word: np.array([read(word)]))[0])


def number_runs(snapshot: Snapshot, places: Places) -> Places:
    """A number for each passage that changes wherever the next one is not its neighbour in the same source."""
    if len(places) == 0:
        return places
    sources = snapshot.passages.sources[places]
    # a run ends where the next place is not the next number, or belongs to another source
    breaks = (np.diff(places) != 1) | (np.diff(sources) != 0)
    return np.concatenate([[0], np.cumsum(breaks)])


def with_neighbours(snapshot: Snapshot, places: Places, reach: int) -> Places:
    """Some passages and those up to `reach` places away in the same source, rising, each once."""
    sources = snapshot.passages.sources
    marked = np.zeros(len(sources), dtype=np.bool_)
    marked[places] = True
    # both neighbours at each distance, where they belong to the source of the passage between them
    for step in range(1, reach + 1):
        for centres, beside in ((places[places >= step], -step), (places[places < len(sources) - step], step)):
            around = centres + beside
            marked[around[sources[around] == sources[centres]]] = True
    return np.flatnonzero(marked)


def best_first(scores: NDArray[np.floating], places: Places, limit: int) -> Places:
    """The indices of the `limit` highest scores, highest first; of equals the one that stands first."""
    # sorting all costs more than finding the limit-th score and sorting what reaches it
    if len(scores) > 4 * limit:
        least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
        chosen = np.flatnonzero(scores >= least)
    else:
        chosen = np.arange(len(scores))
    return chosen[np.lexsort((places[chosen], -scores[chosen]))][:limit]


def _find_touched(snapshot: Snapshot, held: Sequence[Places]) -> tuple[Places, Places]:
    """The places in any of these lists and those near one, rising, with their runs."""
    if not held:
        empty = np.zeros(0, dtype=np.int64)
        return empty, empty
    touched = with_neighbours(snapshot, np.concatenate(held), len(NEIGHBOUR_WORDS))
    return touched, number_runs(snapshot, touched)


def _read_values(places: Places, values: Scores, wanted: Places) -> Scores:
    if len(places) == 0:
        return np.zeros(len(wanted))
    at = np.minimum(np.searchsorted(places, wanted), len(places) - 1)
    return np.where(places[at] == wanted, values[at], 0.0)
