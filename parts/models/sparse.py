"""The words that a learned sparse model sees in passages: what each weighs, kept by the text that was read.

One SQLite file a model, beside the vectors and like them derived: three bytes a piece of the vocabulary, some 450 a
passage. Kept by the hash of the text, so that a rebuild of the ledger weighs nothing anew and what two indices hold is
weighed once. For a snapshot they are turned round into postings, in memory: for each piece the passages that hold it.
There is no file, and nothing of this is imported, where no such model is on.
"""

import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memory_server.embedding.vector_cache import TextHash
from memory_server.embedding.workers import EmbeddingControl, WorkerPool
from memory_server.index.build import Progress
from memory_server.index.snapshot import Snapshot
from memory_server.machine.database import connect, erase_deleted, transaction
from parts.models.sparse_engine import SparseEngine, TermWeights

SCHEMA = "create table if not exists weighed(text_hash blob primary key, terms blob, weights blob) without rowid"
STEP = 1 / 64  # of a weight: 255 of them are the logarithm of a logit of 53, where one of 20 is seldom
TEXTS_AN_APPEND = 64
WIDE = 2**16  # a vocabulary beyond takes numbers of 4 bytes


@dataclass(frozen=True, slots=True, eq=False)
class SparsePostings:
    """For each piece of a vocabulary the passages of a snapshot that hold it."""

    bounds: NDArray[np.int64]  # where those of each piece begin, and behind the last one the end
    places: NDArray[np.int32]
    weights: NDArray[np.uint8]  # in steps
    passages: int

    def scores(self, question: TermWeights) -> NDArray[np.float32]:
        """The inner product of a question with every passage, (passages,)."""
        found = np.zeros(self.passages, dtype=np.float32)
        for term, weight in zip(question.terms.tolist(), question.weights.tolist(), strict=True):
            part = slice(self.bounds[term], self.bounds[term + 1])
            found[self.places[part]] += np.float32(weight * STEP) * self.weights[part]
        return found


class SparseIndex:
    """The weights of all passages by one model. Safe to share between threads; one process writes at a time."""

    def __init__(self, file: Path, engine: Callable[[], SparseEngine]):
        """`engine` loads the model when it is first needed."""
        self._file = file
        self.engine = engine
        self._guard = threading.RLock()
        self._postings: dict[Path, tuple[Snapshot, SparsePostings]] = {}  # of the last snapshot of each ledger

    def bring_level(
        self, texts: Mapping[TextHash, str], plan: EmbeddingControl, report_progress: Callable[[Progress], None]
    ) -> None:
        """Weighs those texts that are not weighed yet. What is done when it is interrupted is kept."""
        with closing(connect(self._file)) as connection:
            connection.execute(SCHEMA)
            known = {row[0] for row in connection.execute("select text_hash from weighed")}
            missing = [(key, text) for key, text in texts.items() if key not in known]
            if not missing:
                return
            rows: list[tuple[bytes, bytes, bytes]] = []
            with WorkerPool(self.engine(), plan) as pool:
                for done, (place, made) in enumerate(pool.embed([text for _, text in missing]), start=1):
                    rows.append((missing[place][0], *self._pack(made)))
                    if len(rows) == TEXTS_AN_APPEND or done == len(missing):
                        with transaction(connection):
                            connection.executemany("insert or replace into weighed values(?, ?, ?)", rows)
                        rows = []
                        report_progress(Progress("weighing", done, len(missing)))
            self._forget_postings()

    def scores(self, snapshot: Snapshot, ledger: Path, text: str) -> NDArray[np.float32]:
        """What all passages of a snapshot of a ledger score for a question, (passages,); 0 where one is not weighed."""
        question = self.engine().weigh_question(text)
        with self._guard:
            cached, postings = self._postings.get(ledger, (None, None))
            if cached is not snapshot or postings is None:
                postings = self._read(snapshot, ledger)
                self._postings[ledger] = (snapshot, postings)
        return postings.scores(question)

    def keep_alone(self, hashes: Collection[TextHash]) -> bool:
        """Forgets all texts but these, so that not a byte of the others stays; whether that could be done."""
        if not self._file.exists():
            return True
        wanted = set(hashes)
        with closing(connect(self._file)) as connection:
            connection.execute(SCHEMA)
            gone = [row for row in connection.execute("select text_hash from weighed") if row[0] not in wanted]
            with transaction(connection):
                connection.executemany("delete from weighed where text_hash = ?", gone)
            self._forget_postings()
            return erase_deleted(connection)

    def _forget_postings(self) -> None:
        with self._guard:
            self._postings = {}

    def _pack(self, made: TermWeights) -> tuple[bytes, bytes]:
        steps = np.clip(np.rint(made.weights / STEP), 0, 255).astype(np.uint8)
        return made.terms[steps > 0].astype(self._numbers).tobytes(), steps[steps > 0].tobytes()

    @property
    def _numbers(self) -> str:
        return "<u4" if self.engine().vocabulary > WIDE else "<u2"

    def _read(self, snapshot: Snapshot, ledger: Path) -> SparsePostings:
        """The postings of all passages of a snapshot that are weighed."""
        with closing(connect(self._file)) as connection:
            connection.execute(SCHEMA)
            connection.execute("attach database ? as ledger", (str(ledger),))
            rows = connection.execute(
                "select chunk.id, terms, weights from ledger.chunk join weighed using (text_hash) order by chunk.id"
            ).fetchall()
        # the pieces of all passages one after the other, then in the order of the pieces
        places, is_held = snapshot.passages.look_up([row[0] for row in rows])
        held = [row for row, here in zip(rows, is_held, strict=True) if here]
        terms = np.frombuffer(b"".join(row[1] for row in held), dtype=self._numbers)
        weights = np.frombuffer(b"".join(row[2] for row in held), dtype=np.uint8)
        order = np.argsort(terms, kind="stable")
        of_terms = np.repeat(places.astype(np.int32), [len(row[2]) for row in held])
        bounds = np.searchsorted(terms[order], np.arange(self.engine().vocabulary + 1))
        return SparsePostings(bounds, of_terms[order], weights[order], len(snapshot.passages))
