"""Vectors that were paid for once: one memory-mapped file of rows, with their keys in SQLite.

A row is found by the hash of the text that was embedded; a folder belongs to one model fingerprint, so vectors of two
models never meet. Rows are appended and flushed before their keys are committed: after a kill, bytes without a key
are overwritten by the next append. The same files serve as the exact scan of filtered questions.
"""

import hashlib
import os
import shutil
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NewType

import numpy as np
from numpy.typing import NDArray

from memory_server.embedding.engine import Embedded, Vectors
from memory_server.errors import NeedsRepair
from memory_server.language.words import FUNCTION_WORDS
from memory_server.machine.database import connect, transaction
from memory_server.machine.files import file_identity

TextHash = NewType("TextHash", bytes)

KEYS_SCHEMA = """
create table if not exists row(
    text_hash blob primary key, vector integer not null unique, first_token integer not null, tokens integer not null
) without rowid
"""


COPIED_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class CachedRow:
    """Where the vectors of one text lie."""

    vector: int  # row of the vector file
    first_token: int  # row of the token file
    tokens: int  # how many rows from there


def text_hash(text: str) -> TextHash:
    """The key of a text: 16 bytes of its sha256."""
    return TextHash(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16])


class VectorCache:
    """The vectors of one model. One process writes at a time; any number may read."""

    def __init__(self, folder: Path, dimensions: int, token_bytes: int):
        """Opens or creates the cache in `folder`.

        `dimensions`: length of a vector, float32. `token_bytes`: length of one packed token vector.
        """
        self.folder = folder
        self._vector_file = folder / "vectors.f32"
        self._token_file = folder / "tokens.bin"
        self._dimensions = dimensions
        self._token_bytes = token_bytes
        self.key_file = folder / "keys.db"
        try:
            self._keys = connect(self.key_file)
            self._keys.execute(KEYS_SCHEMA)
        except sqlite3.DatabaseError as error:
            raise _make_damage_error(folder, str(error)) from error
        self._identity = file_identity(self.key_file)

    @property
    def is_current(self) -> bool:
        """Whether the files that were opened are still those on the disk."""
        return file_identity(self.key_file) == self._identity

    def is_whole(self) -> bool:
        """Whether the key file can be read from end to end."""
        try:
            return bool(self._keys.execute("pragma quick_check").fetchone() == ("ok",))
        except sqlite3.DatabaseError:
            return False

    def drop_lost(self) -> int:
        """Forgets the keys of rows that the files no longer hold, such as after a copy that was cut short; how many."""
        vectors = _size(self._vector_file) // (self._dimensions * 4)
        tokens = _size(self._token_file) // self._token_bytes
        last_vector, last_token = self._ends()
        if last_vector <= vectors and last_token <= tokens:
            return 0
        return self._keys.execute(
            "delete from row where vector >= ? or first_token + tokens > ?", (vectors, tokens)
        ).rowcount

    def __len__(self) -> int:
        """How many texts have vectors."""
        return self._ends()[0]

    def find(self, hashes: Iterable[TextHash]) -> Mapping[TextHash, CachedRow]:
        """The rows of those texts that have been embedded."""
        select = "select vector, first_token, tokens from row where text_hash = ?"
        found = {}
        for key in hashes:
            row = self._keys.execute(select, (key,)).fetchone()
            if row:
                found[key] = CachedRow(*row)
        return found

    def text_hashes(self) -> set[TextHash]:
        """The keys of all texts that have been embedded."""
        return {TextHash(key) for (key,) in self._keys.execute("select text_hash from row")}

    def append(self, hashes: Sequence[TextHash], vectors: Vectors, tokens: Sequence[NDArray[np.uint8]]) -> None:
        """Keeps new vectors (n, d) and their packed tokens, n arrays (t, token_bytes). Known texts keep their rows."""
        assert vectors.shape == (len(hashes), self._dimensions), vectors.shape
        with transaction(self._keys):  # a second writer waits, so that no two take the same rows
            self._append_fresh(hashes, vectors, tokens)

    def _append_fresh(self, hashes: Sequence[TextHash], vectors: Vectors, tokens: Sequence[NDArray[np.uint8]]) -> None:
        known = self.find(hashes)
        places = {key: place for place, key in enumerate(hashes) if key not in known}
        fresh = list(places.values())
        if not fresh:
            return
        rows, token_rows = self._ends()
        packed = [tokens[place] for place in fresh]
        try:
            _write_at(self._vector_file, rows * self._dimensions * 4, vectors[fresh].astype("<f4").tobytes())
            _write_at(self._token_file, token_rows * self._token_bytes, b"".join(part.tobytes() for part in packed))
        except OSError as error:
            raise NeedsRepair(
                f"vectors cannot be written ({error.strerror})",
                where=self._vector_file.parent,
                remedy="Free disk space and run `oneiros reindex` again",
            ) from error
        firsts = token_rows + np.concatenate([[0], np.cumsum([len(part) for part in packed])])
        self._keys.executemany(
            "insert into row values(?, ?, ?, ?)",
            [(hashes[at], rows + n, int(firsts[n]), len(packed[n])) for n, at in enumerate(fresh)],
        )

    def vectors(self) -> Vectors:
        """All rows (n, d), mapped from the file: read them, do not keep them beyond the next append."""
        rows, _ = self._ends()
        if rows == 0:
            return np.zeros((0, self._dimensions), dtype=np.float32)
        return self._map_file(self._vector_file, "<f4", (rows, self._dimensions))

    def tokens(self) -> NDArray[np.uint8]:
        """All packed token rows (m, token_bytes), mapped from the file."""
        _, rows = self._ends()
        if rows == 0:
            return np.zeros((0, self._token_bytes), dtype=np.uint8)
        return self._map_file(self._token_file, "u1", (rows, self._token_bytes))

    def _map_file(self, file: Path, dtype: str, shape: tuple[int, int]) -> NDArray[Any]:
        try:
            return np.memmap(file, dtype=dtype, mode="r", shape=shape)
        except (ValueError, OSError) as error:
            raise _make_damage_error(
                file, "rows are missing", "Run `oneiros reindex`, which makes them again"
            ) from error

    def copy_rows(self, hashes: Iterable[TextHash], other: "VectorCache") -> None:
        """Puts the rows of these texts into another cache of the same shape."""
        rows = sorted(self.find(hashes).items(), key=lambda pair: pair[1].vector)
        vectors, tokens = self.vectors(), self.tokens()
        for start in range(0, len(rows), COPIED_AT_ONCE):
            part = rows[start : start + COPIED_AT_ONCE]
            packed = [np.array(tokens[row.first_token : row.first_token + row.tokens]) for _, row in part]
            other.append([key for key, _ in part], np.array(vectors[[row.vector for _, row in part]]), packed)

    def keep_alone(self, hashes: Iterable[TextHash]) -> None:
        """Rewrites the folder with the rows of these texts alone, so that not a byte of others stays, and closes it.

        The new folder is complete before it takes the old one's place; a kill in between costs time, no knowledge.
        """
        fresh_folder = self.folder.with_name(f"{self.folder.name}.new")
        shutil.rmtree(fresh_folder, ignore_errors=True)
        fresh = VectorCache(fresh_folder, self._dimensions, self._token_bytes)
        self.copy_rows(hashes, fresh)
        fresh.close()
        self.close()
        shutil.rmtree(self.folder)
        fresh_folder.rename(self.folder)

    def close(self) -> None:
        self._keys.close()

    def _ends(self) -> tuple[int, int]:
        """How many rows of either file have keys."""
        # both rise together, so the last row ends both files
        last = "select vector + 1, first_token + tokens from row order by vector desc limit 1"
        return self._keys.execute(last).fetchone() or (0, 0)


def _make_damage_error(where: Path, what: str, remedy: str = "Run `oneiros reindex --rebuild`") -> NeedsRepair:
    return NeedsRepair(f"the vector cache is damaged ({what})", where=where, remedy=remedy)


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def _write_at(file: Path, offset: int, data: bytes) -> None:
    """Writes and flushes bytes at an offset; what lies beyond, left by a kill, is cut off."""
    with file.open("r+b" if file.exists() else "w+b") as stream:
        stream.truncate(offset)
        stream.seek(offset)
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def token_bytes(dimensions: int) -> int:
    """How long one packed token vector is."""
    return (dimensions + 7) // 8


def pack_tokens(embedded: Embedded, text: str) -> NDArray[np.uint8]:
    """The token vectors of a passage's content words as rows of signs (t, token_bytes(d)); of all where none is one.

    One bit a dimension: 48 bytes a token at 384, so 80,000 passages of 200 tokens take 0.35 GB. Neither the signs nor
    the words left out cost anything that can be measured; pooling neighbouring tokens does (benchmarks/RESULTS.md).

    `text`: what was embedded, the context on its first line. The words of the context are left out: they stand in every
    passage of their source and would match for each of them.
    """
    passage = text.find("\n") + 1
    content = [
        place
        for place, (first, last) in enumerate(embedded.spans)
        if first >= passage and _is_content(text[first:last])
    ]
    return np.packbits(embedded.tokens[content or slice(None)] > 0, axis=1)


def _is_content(piece: str) -> bool:
    return piece.casefold() not in FUNCTION_WORDS and any(character.isalnum() for character in piece)
