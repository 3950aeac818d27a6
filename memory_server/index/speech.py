"""Vectors of what was said: by person, assistant and sub-agents in the index of layer 3, where a person wants them.

What tools returned has none: there is four times as much of it, and it is asked for by name. Kept apart from the
vectors of the layers above, in a folder of its own for each model, so that they neither slow nor tilt these; deleted
with the index of turns and made again. Which turn has which vector is told by the hash of its text.
"""

import shutil
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memory_server.embedding.engine import Engine, Vectors
from memory_server.embedding.in_use import ModelInUse
from memory_server.embedding.vector_cache import VectorCache, text_hash
from memory_server.embedding.workers import EmbeddingControl
from memory_server.index.build import Progress, fill_cache
from memory_server.index.ledger import Ledger
from memory_server.index.raw import RawIndex
from memory_server.index.token_vectors import token_bytes

SPEAKERS = ("person", "assistant", "sub-agent")
BEST = 3  # passages of a session whose mean tells how much it speaks of something: one alone may do so by chance


@dataclass(frozen=True, slots=True)
class Spoken:
    """How near a session comes to a question by meaning."""

    score: float  # standard deviations above a typical unrelated pair, the mean of its best passages
    row: int  # of the ledger: its best passage


@dataclass(frozen=True, slots=True)
class _Table:
    """What was said, a row a passage, ordered by source."""

    generation: tuple[int, int]
    rows: NDArray[np.int64]  # of the ledger
    sources: NDArray[np.int64]
    vectors: NDArray[np.int64]  # rows of the cache
    typical: float = 0.0  # cosine of an unrelated pair
    spread: float = 1.0  # standard deviation of such cosines


class SpeechVectors:
    """The vectors of one model. Safe to share between threads."""

    def __init__(self, folder: Path, dimensions: int):
        self.folder = folder
        self._cache = VectorCache(folder, dimensions, token_bytes(dimensions))
        self._probes = folder / "probes.npy"
        self._guard = threading.RLock()
        self._table: _Table | None = None

    @property
    def is_current(self) -> bool:
        """Whether the files that were opened are still those on the disk."""
        return self._cache.is_current

    def close(self) -> None:
        with self._guard:
            self._cache.close()

    def bring_level(
        self,
        ledger: Ledger,
        engine: Callable[[], Engine],
        plan: EmbeddingControl,
        probes: Callable[[], Vectors],
        report_progress: Callable[[Progress], None],
    ) -> None:
        """Embeds what was said and has no vector yet, and removes the vectors of other models.

        `probes`: vectors (p, d) of questions that have nothing to do with the memory.
        """
        for other in self.folder.parent.glob("*/"):
            if other != self.folder:
                shutil.rmtree(other, ignore_errors=True)
        texts = {text_hash(passage): passage for _, _, passage in self._spoken(ledger)}
        known = self._cache.find(texts)
        missing = [(key, text) for key, text in texts.items() if key not in known]
        if missing:
            fill_cache(self._cache, missing, engine(), plan, report_progress)
        if texts and not self._probes.exists():
            temporary = self._probes.with_name("probes.new.npy")
            np.save(temporary, probes())
            temporary.replace(self._probes)

    def near(self, ledger: Ledger, generation: int, question: Vectors) -> dict[int, Spoken]:
        """For each source of the ledger how near it comes to a question (d,)."""
        with self._guard:
            table = self._read(ledger, generation)
            if len(table.rows) == 0 or not self._probes.exists():
                return {}
            cosines = self._cache.vectors()[table.vectors] @ question
        scores = (cosines - table.typical) / table.spread
        firsts = np.flatnonzero(np.diff(table.sources, prepend=-1))
        found = {}
        for first, end in zip(firsts, [*firsts[1:], len(scores)], strict=True):
            own = scores[first:end]
            best = first + int(np.argmax(own))
            mean = float(np.sort(own)[-BEST:].mean())
            found[int(table.sources[first])] = Spoken(mean, int(table.rows[best]))
        return found

    def _read(self, ledger: Ledger, generation: int) -> _Table:
        state = (generation, len(self._cache))
        if self._table is None or self._table.generation != state:
            spoken = self._spoken(ledger)
            hashes = [text_hash(passage) for _, _, passage in spoken]
            known = self._cache.find(hashes)
            held = [
                (row, source, known[key].vector)
                for (row, source, _), key in zip(spoken, hashes, strict=True)
                if key in known
            ]
            rows, sources, vectors = np.array(held, dtype=np.int64).reshape(-1, 3).T.copy()
            self._table = _Table(state, rows, sources, vectors)
            if held and self._probes.exists():
                unrelated = self._cache.vectors()[self._table.vectors] @ np.load(self._probes).T
                spread = max(float(unrelated.std()), 1e-6)
                self._table = replace(self._table, typical=float(unrelated.mean()), spread=spread)
        return self._table

    def _spoken(self, ledger: Ledger) -> list[tuple[int, int, str]]:
        """Row, source and text of everything that was said, by source."""
        marks = ", ".join("?" * len(SPEAKERS))
        said = "substr(passage, instr(passage, ': ') + 2)"  # behind the name of the speaker
        query = f"select id, source, {said} from chunk where headings in ({marks}) order by source, ordinal"  # noqa: S608  no text of others
        return list(ledger.connection.execute(query, [f'["{name}"]' for name in SPEAKERS]))


class Speech:
    """The vectors under the model in use, where a person wants them; opened when they are first asked for."""

    def __init__(self, folder: Path, model: ModelInUse, is_wanted: Callable[[], bool]):
        """`folder` holds a folder a model."""
        self._folder = folder
        self._model = model
        self._is_wanted = is_wanted
        self._guard = threading.RLock()
        self._open: SpeechVectors | None = None

    def vectors(self) -> SpeechVectors | None:
        """Those of the model in use; None where the person wants none."""
        with self._guard:
            if not self._is_wanted():
                return None
            files = self._model.files
            folder = self._folder / files.fingerprint
            if self._open is None or self._open.folder != folder or not self._open.is_current:
                self.close()
                self._open = SpeechVectors(folder, files.card.dimensions)
            return self._open

    def bring_level(
        self,
        raw: RawIndex,
        plan: EmbeddingControl,
        probes: Callable[[], Vectors],
        report_progress: Callable[[Progress], None],
    ) -> None:
        """Embeds what was said and has no vector yet. `probes` as in `SpeechVectors.bring_level`."""
        if (vectors := self.vectors()) is not None and not raw.is_empty:
            vectors.bring_level(raw.ledger, self._model.engine, plan, probes, report_progress)

    def near(self, raw: RawIndex, text: str) -> Mapping[int, Spoken]:
        """How near each archived session comes to a text, by what was said in it."""
        if (vectors := self.vectors()) is None:
            return {}
        return vectors.near(raw.ledger, raw.ledger.generation(), self._model.embed_query(text).vector)

    def drop(self) -> None:
        """Deletes the vectors of every model; the next `bring_level` makes them anew."""
        self.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def close(self) -> None:
        with self._guard:
            if self._open is not None:
                self._open.close()
            self._open = None
