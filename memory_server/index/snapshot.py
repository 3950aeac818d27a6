"""What search looks at: the indices as they were at one moment.

Where each searchable passage stands is a table of arrays, one row a passage, read at once from the ledger: search asks
thousands of times a second which source a passage belongs to and where its vectors lie, and a database answers that too
slowly. Table and snapshot are immutable and cheap to share between threads. `Memory` takes new ones when the indices
have changed; searches under way finish on the old ones.
"""

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory_server.document import Layer, SourceHead, SourcePath
from memory_server.embedding.engine import Vectors
from memory_server.index.ledger import Ledger, SourceMark
from memory_server.layers.sessions import find_subject
from memory_server.layers.topics import list_names, normalise_target
from memory_server.machine.database import build_uri


@dataclass(frozen=True)
class Passages:
    """All searchable chunks, in the order of their rows in the ledger; every array has a row a passage.

    The chunks of a source stand together, as the ledger writes them. What follows from the arrays alone is worked out
    when it is first asked for, and kept.
    """

    rows: NDArray[np.int64]  # of the ledger, rising
    sources: NDArray[np.int64]
    ordinals: NDArray[np.int64]
    layers: NDArray[np.int64]  # ranks, 1 to 4
    vectors: NDArray[np.int64]  # rows of the vector cache; -1 where not embedded yet
    first_tokens: NDArray[np.int64]
    token_counts: NDArray[np.int64]
    lines: NDArray[np.int64]  # the first line of each: pieces of one long line share it
    lengths: NDArray[np.int64]  # in words

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def columns(self) -> tuple[NDArray[np.int64], ...]:
        """The arrays, in the order above."""
        return tuple(getattr(self, column.name) for column in fields(self))

    @cached_property
    def line_numbers(self) -> NDArray[np.int64]:
        """A number for each line of each source, rising from 0; the pieces of a long line share it."""
        # a line begins where its number or its source changes
        starts = np.ones(len(self), dtype=np.bool_)
        starts[1:] = (np.diff(self.lines) != 0) | (np.diff(self.sources) != 0)
        return np.cumsum(starts) - 1

    @cached_property
    def line_bounds(self) -> NDArray[np.int64]:
        """Where the pieces of each line begin, by its number, and behind the last one the end, (lines + 1,)."""
        return np.searchsorted(self.line_numbers, np.arange(self.line_numbers.max(initial=-1) + 2))

    def whole_lines(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Some places and the other pieces of the lines they belong to, rising, each once."""
        numbers = sort_distinct(self.line_numbers[places])
        return ranges(self.line_bounds[numbers], self.line_bounds[numbers + 1])

    @cached_property
    def source_bounds(self) -> Mapping[int, tuple[int, int]]:
        """Where the passages of each source begin and end."""
        starts = np.flatnonzero(np.diff(self.sources, prepend=-1))
        ends = np.append(starts[1:], len(self))
        return dict(zip(self.sources[starts].tolist(), zip(starts.tolist(), ends.tolist(), strict=True), strict=True))

    def places(self, rows: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
        """The places of ledger rows in this table; rows that it does not hold are left out."""
        return self.look_up(rows)[0]

    def look_up(self, rows: Sequence[int] | NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The places of those ledger rows that this table holds, and for every row whether it does."""
        # rows rise, so a row is found by bisection; one that is not there points at another
        wanted = np.asarray(rows, dtype=np.int64)
        if len(self) == 0 or wanted.size == 0:
            return np.zeros(0, dtype=np.int64), np.zeros(wanted.size, dtype=np.bool_)
        found = np.minimum(np.searchsorted(self.rows, wanted), len(self) - 1)
        is_held: NDArray[np.bool_] = self.rows[found] == wanted
        return found[is_held], is_held

    def find_allowed(self, sources: Iterable[int] | None, layers: Sequence[Layer]) -> NDArray[np.bool_]:
        """Which passages belong to one of these sources (None: to any) and layers."""
        mask = np.zeros(len(self), dtype=np.bool_)
        for layer in layers:
            mask |= self.layers == layer.rank
        if sources is not None:
            mask &= np.isin(self.sources, np.fromiter(sources, dtype=np.int64))
        return mask


def sort_distinct(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The values, each once, rising. Without the counts numpy would load its masked arrays, 30 ms of a command."""
    return np.unique(values, return_counts=True)[0]


def ranges(starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers from each start up to its end, one range after the other."""
    sizes = ends - starts
    before = np.cumsum(sizes) - sizes
    return np.repeat(starts - before, sizes) + np.arange(sizes.sum())


@dataclass(frozen=True, slots=True)
class ReadTable:
    """The table of one moment and its sources, and by what the next one can tell which of these changed."""

    passages: Passages
    sources: Mapping[int, SourceHead]
    marks: Mapping[int, SourceMark]


def read_passages(ledger: Ledger, vector_keys: Path, before: ReadTable | None = None) -> ReadTable:
    """The table as the ledger has it now. `before`: an earlier one of the same ledger and the same vectors, of which
    whatever did not change is taken over.

    `ledger` is one that no other thread uses: the key file of the vector cache, `vector_keys`, stays attached to it.
    """
    connection = ledger.connection
    # one transaction over ledger and vector cache, so that both are of the same moment
    connection.execute("attach database ? as cache", (build_uri(vector_keys),))
    connection.execute("begin")
    marks = ledger.source_marks()
    changed = None if before is None else _find_changed(before, marks)
    table, sources = _read_table(ledger, changed), ledger.read_sources(changed)
    connection.execute("commit")
    if before is None or changed is None:
        return ReadTable(Passages(*(np.ascontiguousarray(column) for column in table.T)), sources, marks)
    # (n, 9): what did not change and what did, in the order of their rows
    unchanged = np.isin(before.passages.sources, [number for number in marks if number not in changed])
    columns = [np.concatenate([old[unchanged], new]) for old, new in zip(before.passages.columns, table.T, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    heads = {number: sources.get(number) or before.sources[number] for number in marks}
    return ReadTable(Passages(*(column[order] for column in columns)), heads, marks)


def _find_changed(before: ReadTable, marks: Mapping[int, SourceMark]) -> Collection[int] | None:
    """The sources that were written since, or that wait for vectors; None where nothing can be taken over."""
    passages = before.passages
    changed = {number for number, mark in marks.items() if before.marks.get(number) != mark}
    changed.update(passages.sources[passages.vectors < 0].tolist())
    return changed if len(changed) < len(marks) else None


def _read_table(ledger: Ledger, sources: Collection[int] | None) -> NDArray[np.int64]:
    """The passages (n, 9) of some sources, None for all, in the order of their rows; a column an array of the table."""
    ranks = " ".join(f"when '{layer}' then {layer.rank}" for layer in Layer)
    select = (
        f"select chunk.id, chunk.source, chunk.ordinal, case source.layer {ranks} end, coalesce(row.vector, -1),"  # noqa: S608  names of our own
        " coalesce(row.first_token, 0), coalesce(row.tokens, 0), chunk.first_line, chunk.word_count"
        " from chunk join source on source.id = chunk.source"
        " left join cache.row on cache.row.text_hash = chunk.text_hash where chunk.text_hash is not null"
    )
    if sources is None:
        found = ledger.connection.execute(f"{select} order by chunk.id")
    else:
        some = " and chunk.source in (select value from json_each(?)) order by chunk.id"
        found = ledger.connection.execute(select + some, (json.dumps([*sources]),))
    return np.fromiter(chain.from_iterable(found), dtype=np.int64).reshape(-1, 9)


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
