"""What search looks at: the indices as they were at one moment.

A snapshot is immutable and cheap to share between threads. `Memory` takes a new one when the indices have changed;
searches under way finish on the old one.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_server.document import Layer, SourceHead, SourcePath
from memory_server.embedding.engine import Vectors
from memory_server.index.passages import Passages, ranges
from memory_server.layers.sessions import find_subject
from memory_server.layers.topics import list_names, normalise_target

ROWS_A_BLOCK = 256  # 0.4 MB of vectors
ROWS_AN_EXACT_BLOCK = 4_096  # 13 MB of them in 64 bits
EXACT_STEP = 2.0**-24  # products of such multiples, and their sums up to 2^5, fit a 64-bit float
MOST_TABLE_BYTES = 48_000_000  # the words of some hundred questions at 30,000 passages


class WordTables:
    """What the keyword index was asked for lately, a table a word: the frequent words come in most questions, and they
    cost most to read. Bounded by its bytes, the longest unused goes first; it lives as long as its snapshot.
    """

    def __init__(self, most_bytes: int = MOST_TABLE_BYTES):
        self._most_bytes = most_bytes
        self._guard = threading.Lock()
        self._tables: OrderedDict[tuple[str, str], NDArray[Any]] = OrderedDict()
        self._bytes = 0

    def get(self, kind: str, word: str, read: Callable[[str], NDArray[Any]]) -> NDArray[Any]:
        """The table of a word; read where it is not there. Not to be written to."""
        return self.get_all(kind, [word], lambda words: map(read, words))[0]

    def get_all(
        self, kind: str, words: Sequence[str], read: Callable[[Sequence[str]], Iterable[NDArray[Any]]]
    ) -> list[NDArray[Any]]:
        """The tables of some words; those that are not there are read in one go."""
        with self._guard:
            found = {word: self._tables[kind, word] for word in words if (kind, word) in self._tables}
            for word in found:
                self._tables.move_to_end((kind, word))
        if missing := [word for word in dict.fromkeys(words) if word not in found]:
            found |= zip(missing, read(missing), strict=True)
            self._keep({(kind, word): found[word] for word in missing})
        return [found[word] for word in words]

    def _keep(self, tables: Mapping[tuple[str, str], NDArray[Any]]) -> None:
        with self._guard:
            for key, table in tables.items():
                if key not in self._tables:
                    self._tables[key] = table
                    self._bytes += table.nbytes
            while self._bytes > self._most_bytes:
                self._bytes -= self._tables.popitem(last=False)[1].nbytes


@dataclass(frozen=True)
class Snapshot:
    """The indices of one moment."""

    passages: Passages
    sources: Mapping[int, SourceHead]
    vectors: Vectors  # (rows of the cache, d), unit rows, mapped from the file
    tokens: NDArray[np.uint8]  # packed token vectors, mapped from the file
    superseded: Mapping[SourcePath, SourcePath] = field(default_factory=dict)  # what topics replace -> the topic
    word_tables: WordTables = field(default_factory=WordTables)

    def cosines(self, question: Vectors, places: NDArray[np.int64]) -> NDArray[np.float32]:
        """The cosine of a question (d,) with each of these passages; 0 where a passage has no vector yet."""
        rows = self.passages.vectors[places]
        known = rows >= 0
        found = np.zeros(len(places), dtype=np.float32)
        if known.mean() > 0.5 and len(places) > len(self.vectors) // 2:
            found[known] = (self.vectors @ question)[rows[known]]  # reading on is quicker than picking most rows
        elif known.any():
            found[known] = _compute_cosines(np.asarray(self.vectors), rows[known], question)
        return found

    def read_vectors(self, places: NDArray[np.int64]) -> NDArray[np.float32]:
        """The vectors (n, d) of passages that have one."""
        return np.array(self.vectors[self.passages.vectors[places]])

    def read_tokens(self, places: NDArray[np.int64]) -> NDArray[np.uint8]:
        """The packed token vectors of some passages, those of one behind those of the other."""
        firsts, counts = self.passages.first_tokens[places], self.passages.token_counts[places]
        return self.tokens[ranges(firsts, firsts + counts)]

    def exact_cosines(self, questions: Vectors, places: NDArray[np.int64]) -> NDArray[np.float32]:
        """The cosines of some questions (q, d) with some passages (n,) that have vectors, (q, n).

        Made of components rounded to multiples of EXACT_STEP, which add up to the same in any order: bit for bit the
        same wherever a row stands, which the quicker `cosines` cannot promise. Off by 2e-6 at most.
        """
        # whole multiples of EXACT_STEP, multiplied and added without rounding
        rounded = np.rint(questions.astype(np.float64) / EXACT_STEP)
        rows = self.passages.vectors[places]
        found = np.empty((len(questions), len(rows)), dtype=np.float32)
        for start in range(0, len(rows), ROWS_AN_EXACT_BLOCK):
            block = np.rint(self.vectors[rows[start : start + ROWS_AN_EXACT_BLOCK]].astype(np.float64) / EXACT_STEP)
            found[:, start : start + ROWS_AN_EXACT_BLOCK] = (rounded @ block.T) * EXACT_STEP**2
        return found

    def reading_order(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """A number for each of these passages that rises by path and place in the source: what decides between equals.

        Rows of the ledger would not do, since a rebuild numbers them anew.
        """
        ranks = np.empty(len(places), dtype=np.int64)
        # by path, then by place in the source
        order = np.lexsort((self.passages.ordinals[places], self._path_ranks[self.passages.sources[places]]))
        ranks[order] = np.arange(len(places))
        return ranks

    @cached_property
    def subjects(self) -> frozenset[str]:
        """What the sources are of: a session by the beginning of its id, whichever of its files it is."""
        return frozenset(find_subject(source.path) for source in self.sources.values())

    @cached_property
    def projects(self) -> frozenset[str]:
        """The names of projects that sources are of."""
        return frozenset(source.project for source in self.sources.values() if source.project)

    @cached_property
    def _path_ranks(self) -> NDArray[np.int64]:
        """For the number of each source its place among all paths."""
        ranks = np.zeros(max(self.sources, default=0) + 1, dtype=np.int64)
        ranks[sorted(self.sources, key=lambda number: self.sources[number].path)] = np.arange(len(self.sources))
        return ranks


def _compute_cosines(vectors: Vectors, rows: NDArray[np.int64], question: Vectors) -> NDArray[np.float32]:
    """The cosines of some rows, in blocks that stay in the processor's cache: ten times quicker for some thousand."""
    found = np.empty(len(rows), dtype=np.float32)
    for start in range(0, len(rows), ROWS_A_BLOCK):
        found[start : start + ROWS_A_BLOCK] = vectors[rows[start : start + ROWS_A_BLOCK]] @ question
    return found


def find_superseded(sources: Mapping[int, SourceHead]) -> Mapping[SourcePath, SourcePath]:
    """The sources that approved ones say they supersede -> the source that says so."""
    if not any(source.supersedes for source in sources.values()):
        return {}
    named = {name: source.path for source in sources.values() for name in list_names(source.path, source.identity)}
    return {
        named[name]: source.path
        for source in sources.values()
        if source.layer is Layer.TOPIC
        for target in source.supersedes
        if (name := normalise_target(target)) in named
    }
