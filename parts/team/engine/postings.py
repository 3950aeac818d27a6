"""Postings: where the terms of a tenant stand, as arrays in blocks, and how a change of texts changes them.

Texts are cut by the same tokenizers as in the ledger of memory_server, in an index of SQLite that lives for a moment.
Places are whole numbers of 32 bits, rising:

    s   a stem of a passage     twice the row, and 1 where it stands in the context; an occurrence each
    w   a word of a passage     row, then FIELD times its field and its position; (n, 2)
    b   a word of a source      source and count; (n, 2)
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing

import numpy as np
import psycopg
from numpy.typing import NDArray

from memory_server.language.spelling import unify
from memory_server.language.words import STEMS, WORDS, extra_words
from parts.team.engine.schema import BLOCK

FIELD = 1 << 24  # of a word's place; no passage has so many words
AT_ONCE = 5_000  # terms in one statement

Places = NDArray[np.int32]
Text = tuple[int, str, str]  # a passage: row, context, passage; a source: number, title, body
Key = tuple[int, str]  # block and term

COLUMNS = {"tenant": "int4", "block": "int4", "term": "text", "holders": "int4", "places": "bytea"}
CUTTER = f"""
create virtual table stems using fts5(context, passage, extra, content='', tokenize='{STEMS}');
create virtual table words using fts5(context, passage, extra, content='', tokenize='{WORDS}');
create virtual table bodies using fts5(title, body, content='', tokenize='{WORDS}');
"""
PLACES = {  # of each kind: its table, and an occurrence as one whole number, rising
    "s": ("stems", "doc * 2 + (col = 'context')"),
    "w": (
        "words",
        f"doc * {1 << 32} + case col when 'context' then 0 when 'passage' then {FIELD} else {2 * FIELD} end + offset",
    ),
    "b": ("bodies", "doc"),
}


class CutTexts:
    """Texts cut into terms."""

    def __init__(self, sources: Iterable[Text], passages: Iterable[Text]):
        """Cuts them at once. The numbers of each kind rise."""
        unified = [(row, unify(context), unify(passage)) for row, context, passage in passages]
        rows = [(*one, extra_words(one[-1])) for one in unified]
        self.terms: dict[str, Places] = {}  # with the letter of its kind before each
        with closing(sqlite3.connect(":memory:")) as index:
            index.executescript(CUTTER)
            for table in ("stems", "words"):
                index.executemany(f"insert into {table}(rowid, context, passage, extra) values(?, ?, ?, ?)", rows)
            bodies = [(number, unify(title), unify(body)) for number, title, body in sources]
            index.executemany("insert into bodies(rowid, title, body) values(?, ?, ?)", bodies)
            for kind in PLACES:
                self.terms |= _cut(index, kind)

    def lengths(self, kind: str, numbers: Sequence[int]) -> list[int]:
        """How many words passages (kind `w`) or sources (`b`) have, in the order of their numbers."""
        places = [found for term, found in self.terms.items() if term[0] == kind]
        if not places:
            return [0] * len(numbers)
        held = np.concatenate(places)
        counts = np.bincount(held[:, 0], None if kind == "w" else held[:, 1], max(numbers, default=0) + 1)
        return [int(counts[number]) for number in numbers]


def _cut(index: sqlite3.Connection, kind: str) -> dict[str, Places]:
    """The terms of a kind, each with its places.

    All occurrences come as one text, in the order of the terms, which takes a tenth of the time of a row each.
    """
    table, place = PLACES[kind]
    index.executescript(
        f"create virtual table {kind}_term using fts5vocab({table}, row);"
        f"create virtual table {kind}_place using fts5vocab({table}, instance);"
    )
    rows = index.execute(f"select term, cnt from {kind}_term order by term").fetchall()  # noqa: S608  names of our own
    (text,) = index.execute(f"select group_concat({place}) from {kind}_place").fetchone()  # noqa: S608  the same
    found = np.fromstring(text or "", dtype=np.int64, sep=",")
    counts = np.array([count for _, count in rows], dtype=np.int64)
    if kind == "b":  # each source of a term once, with its count
        of_term = np.repeat(np.arange(len(rows)), counts)
        both, numbers = np.unique((of_term << 32) + found, return_counts=True)
        counts = np.bincount(both >> 32, minlength=len(rows))
        places = np.stack([both & 0xFFFF_FFFF, numbers], axis=1)
    elif kind == "w":
        places = np.stack([found >> 32, found & 0xFFFF_FFFF], axis=1)
    else:
        places = found
    ends = np.cumsum(counts).tolist()
    whole = places.astype("<i4")
    return {
        f"{kind}{term}": whole[end - size : end]
        for (term, _), end, size in zip(rows, ends, counts.tolist(), strict=True)
    }


class PostingChanges:
    """Changes of the postings of a tenant, gathered and then written."""

    def __init__(self, connection: psycopg.Connection, tenant: int):
        self._connection = connection
        self._tenant = tenant
        self._gone: dict[Key, list[Places]] = {}  # numbers of what goes
        self._new: dict[Key, list[Places]] = {}

    def forget(self, sources: Sequence[Text], passages: Sequence[Text]) -> None:
        """Takes texts out that were written before."""
        for term, places in CutTexts(sources, passages).terms.items():
            for block, part in _in_blocks(term, places):
                self._gone.setdefault((block, term), []).append(np.unique(extract_numbers(term, part)))

    def add(self, sources: Sequence[Text], passages: Sequence[Text]) -> CutTexts:
        """Puts texts in, whose numbers were never used."""
        cut = CutTexts(sources, passages)
        for term, places in cut.terms.items():
            for block, part in _in_blocks(term, places):
                self._new.setdefault((block, term), []).append(part)
        return cut

    def write(self) -> None:
        """Writes what was gathered: each block of a term anew, of what it held and what changed."""
        changed = sorted(self._new.keys() | self._gone.keys())
        held = self._take(changed)
        copy_rows(self._connection, "posting", COLUMNS, self._rows(changed, held))
        self._new.clear()
        self._gone.clear()

    def _rows(self, changed: Sequence[Key], held: Mapping[Key, Places]) -> Iterator[tuple[object, ...]]:
        for key in changed:
            places = self._merge_places(key, held.get(key))
            if len(places):
                holders = 1 + int(np.count_nonzero(np.diff(extract_numbers(key[1], places))))
                yield self._tenant, *key, holders, places.tobytes()

    def _merge_places(self, key: Key, held: Places | None) -> Places:
        parts = [] if held is None else [held]
        for gone in self._gone.get(key, ()):
            parts = [part[~np.isin(extract_numbers(key[1], part), gone)] for part in parts]
        parts += self._new.get(key, ())
        return parts[0] if len(parts) == 1 else np.concatenate([shape_places(key[1], b""), *parts])

    def _take(self, keys: Sequence[Key]) -> dict[Key, Places]:
        """Takes the rows of some keys out of the table."""
        found = dict[Key, Places]()
        for block in sorted({block for block, _ in keys}):
            has_any = self._connection.execute(
                "select exists (select from posting where tenant = %s and block = %s)", (self._tenant, block)
            ).fetchone()
            terms = [term for at, term in keys if at == block] if has_any == (True,) else []
            for start in range(0, len(terms), AT_ONCE):
                rows = self._connection.execute(
                    "delete from posting where tenant = %s and block = %s and term = any(%s) returning term, places",
                    (self._tenant, block, terms[start : start + AT_ONCE]),
                    binary=True,
                )
                found.update({(block, term): shape_places(term, places) for term, places in rows})
        return found


def copy_rows(
    connection: psycopg.Connection, table: str, columns: Mapping[str, str], rows: Iterable[Sequence[object]]
) -> None:
    """Copies rows into a table, in binary form; `columns` gives the type of each.

    They go through a table of this transaction alone: COPY refuses a table with policies, INSERT asks them.
    """
    names, staged = ", ".join(columns), f"staged_{table}"
    connection.execute(f"create temp table if not exists {staged}(like {table}) on commit drop")
    copied = f"copy {staged}({names}) from stdin (format binary)"
    with connection.cursor() as cursor, cursor.copy(copied) as copy:
        copy.set_types(list(columns.values()))
        for row in rows:
            copy.write_row(row)
    connection.execute(f"insert into {table}({names}) select {names} from {staged}")  # noqa: S608
    connection.execute(f"truncate {staged}")


def extract_numbers(term: str, places: Places) -> Places:
    """The passages or sources of some places."""
    return places >> 1 if term[0] == "s" else places[:, 0]


def shape_places(term: str, data: bytes) -> Places:
    """Stored places as an array: (n,) of a stem, (n, 2) of a word."""
    found = np.frombuffer(data, dtype="<i4")
    return found if term[0] == "s" else found.reshape(-1, 2)


def _in_blocks(term: str, places: Places) -> Iterator[tuple[int, Places]]:
    """Places by the blocks that they belong to."""
    numbers = extract_numbers(term, places)
    first, last = int(numbers[0]) // BLOCK, int(numbers[-1]) // BLOCK
    if first == last:
        yield first, places
        return
    ends = np.searchsorted(numbers, np.arange(first, last + 2) * BLOCK)
    for block, start, end in zip(range(first, last + 1), ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        if start < end:
            yield block, places[start:end]
