"""The graph: ChromaDB kept level with the vectors, beside the scan that answers without it.

It holds the vectors of all texts by the hash of these, layer by layer, and is made of the ledger and the vector cache
alone. A vector never changes under its hash, so a graph is level when it holds the hashes that the ledger names; what
is wrong with one is mended by a new one. Until it is level `find_nearest` answers None and the caller scans: nothing
that is found depends on it. Only the process that owns the root may bring it level.
"""

import logging
import re
import shutil
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from memory_server.document import Layer
from memory_server.embedding.engine import Vectors
from memory_server.embedding.vector_cache import TextHash, VectorCache
from memory_server.errors import NeedsRepair
from memory_server.index.build import INDEXING, Progress
from memory_server.machine.files import remove_file, remove_other_folders, replace_file

if TYPE_CHECKING:
    from memory_server.index.semantic import SemanticIndex

logger = logging.getLogger(__name__)

WHOLE = "whole"  # a file that says how many vectors were deleted; it is away while the folder is written
KEYS_A_STEP = 1_000  # between two looks whether something else is more urgent
SAMPLE = 50  # of each layer, compared with the cache and found by themselves when a graph is opened
FEW_DELETED = 1_000
MAX_DELETED_SHARE = 0.3  # beyond, deleted points slow and hide the living ones, so it is filled anew

Keys = Mapping[Layer, set[TextHash]]


class Graph:
    """The folder of ChromaDB of one model, among those in `parent`. Safe to share between threads."""

    def __init__(self, parent: Path, fingerprint: str):
        """Opens nothing yet."""
        self._parent = parent
        self._fingerprint = fingerprint
        self._writing = threading.RLock()
        self._asking = threading.Lock()  # held while the index is asked, exchanged or closed; never while it is filled
        self._index: SemanticIndex | None = None
        self._held: Keys = {}
        self._deleted = 0
        self.is_level = False
        self.trouble = ""  # why it could not be made level, in a sentence

    def find_nearest(self, layer: Layer, question: Vectors, limit: int) -> list[TextHash] | None:
        """The hashes nearest to a question (d,), nearest first; None where the caller has to scan."""
        with self._asking:
            if self._index is None or not self.is_level:
                return None
            try:
                return self._index.find_nearest(layer, question, limit)
            except NeedsRepair as error:
                logger.warning("%s", error)
                self._give_up()
                return None

    def bring_level(self, wanted: Keys, cache: VectorCache, report_progress: Callable[[Progress], None]) -> None:
        """Opens it, and adds and deletes what differs. Where that fails twice, the scan goes on answering."""
        with self._writing:
            for _ in range(2):
                try:
                    self._open(wanted, cache)
                    self._fill(wanted, cache, report_progress)
                except (NeedsRepair, ImportError, OSError) as error:
                    logger.warning("the semantic index is filled again: %s", error)
                    self.trouble = error.what if isinstance(error, NeedsRepair) else str(error)
                    with self._asking:
                        self._give_up()
                else:
                    self.is_level, self.trouble = self._index is not None, ""
                    return

    def count_wrong(self, list_wanted: Callable[[], Keys], cache: VectorCache, sample: int) -> tuple[int, int]:
        """How many hashes are missing, unasked for or have another vector; how many of `sample` are not found by
        their own. Nothing is wrong with a graph that answers nothing.
        """
        with self._writing:
            if self._index is None or not self.is_level:
                return 0, 0
            wanted = list_wanted()  # while nothing is written
            wrong = unreached = 0
            for layer in Layer:
                stored = self._index.read_vectors(layer)
                wrong += len(stored.keys() ^ wanted[layer]) + _count_unlike(stored, wanted[layer], cache)
                unreached += _count_unreached(self._index, layer, wanted[layer], cache, sample)
            return wrong, unreached

    def close(self) -> None:
        """Answers nothing until it is brought level again."""
        with self._writing, self._asking:
            self._close()

    def drop(self) -> None:
        """Deletes every graph that is kept, with all its bytes."""
        with self._writing:
            self.close()
            shutil.rmtree(self._parent, ignore_errors=True)

    # -- the folder ---------------------------------------------------------------------------------------------

    def _open(self, wanted: Keys, cache: VectorCache) -> None:
        """Opens the folder that is there if it is whole and right, else an empty one."""
        if self._index is not None:
            return
        names = [entry.name for entry in self._parent.iterdir()] if self._parent.is_dir() else []
        numbers = [int(name.rpartition("-")[2]) for name in names if re.search(r"-\d+$", name)]
        newest = self._parent / f"{self._fingerprint}-{max(numbers, default=0)}"
        if (whole := newest / WHOLE).is_file():
            # away while it is looked at: damage can end the process, and the next one then leaves this folder alone
            deleted = _read_number(whole)
            remove_file(whole)
            try:
                self._exchange(newest, deleted)
                if self._is_right(wanted, cache):
                    replace_file(whole, f"{deleted}\n")
                    return
                logger.warning("the semantic index is not the one of this memory; it is filled again")
            except NeedsRepair as error:
                logger.warning("%s", error)
        # another name, since ChromaDB does not open a path a second time in one process after it failed there
        self._exchange(self._parent / f"{self._fingerprint}-{max(numbers, default=0) + 1}")

    def _exchange(self, folder: Path, deleted: int = 0) -> None:
        from memory_server.index.semantic import SemanticIndex  # noqa: PLC0415  half a second that most commands save

        index = SemanticIndex(folder)
        try:
            held = {layer: set(index.list_keys(layer)) for layer in Layer}
        except BaseException:
            index.close()
            raise
        with self._asking:
            self._close()
            self._index, self._held, self._deleted = index, held, deleted
        remove_other_folders(self._parent, folder.name)

    def _is_right(self, wanted: Keys, cache: VectorCache) -> bool:
        """Whether sampled vectors are those of the cache and found by themselves."""
        assert self._index is not None
        for layer in Layer:
            both = {*sorted(self._held[layer] & wanted[layer])[:SAMPLE]}
            stored = self._index.read_vectors(layer, [*both])
            unlike = len(both - stored.keys()) + _count_unlike(stored, both, cache)
            if unlike or _count_unreached(self._index, layer, both, cache, SAMPLE):
                return False
        return True

    def _fill(self, wanted: Keys, cache: VectorCache, report_progress: Callable[[Progress], None]) -> None:
        gone = {layer: self._held[layer] - wanted[layer] for layer in Layer}
        deleted = self._deleted + sum(map(len, gone.values()))
        if deleted > FEW_DELETED and deleted > MAX_DELETED_SHARE * sum(map(len, wanted.values())):
            with self._asking:
                self._give_up()
            self._open(wanted, cache)
            gone, deleted = {}, 0
        index, held = self._index, self._held  # a question that fails meanwhile gives up both
        assert index is not None
        more = {layer: sorted(wanted[layer] - held[layer]) for layer in Layer}
        whole = index.folder / WHOLE
        if whole.is_file() and not any(gone.values()) and not any(more.values()):
            return
        remove_file(whole)
        for layer, keys in gone.items():
            index.delete(layer, [*keys])
            held[layer] -= keys
        self._deleted = deleted
        done, total = 0, sum(map(len, more.values()))
        for layer, missing in more.items():
            for start in range(0, len(missing), KEYS_A_STEP):
                rows = cache.find(missing[start : start + KEYS_A_STEP])  # what is not embedded yet comes with its run
                index.add(layer, [*rows], cache.vectors()[[row.vector for row in rows.values()]])
                held[layer].update(rows)
                done += KEYS_A_STEP
                report_progress(Progress(INDEXING, min(done, total), total))
        if self._index is index:
            index.sync()
            replace_file(whole, f"{deleted}\n")

    def _give_up(self) -> None:
        """Leaves the folder to be replaced. Call with `_asking` held."""
        if self._index is not None:
            with suppress(OSError):  # where it cannot be written the next opening looks for itself
                remove_file(self._index.folder / WHOLE)
        self._close()

    def _close(self) -> None:
        if self._index is not None:
            self._index.close()
        self._index, self._held, self.is_level = None, {}, False


def _read_number(file: Path) -> int:
    with suppress(OSError, ValueError):
        return int(file.read_text(encoding="utf-8"))
    return 0


def _count_unlike(stored: Mapping[TextHash, Vectors], keys: set[TextHash], cache: VectorCache) -> int:
    """How many of these hashes are stored with another vector than the cache has."""
    rows, vectors = cache.find(keys & stored.keys()), cache.vectors()
    return sum(not np.allclose(stored[key], vectors[row.vector], atol=1e-4) for key, row in rows.items())


def _count_unreached(index: "SemanticIndex", layer: Layer, keys: set[TextHash], cache: VectorCache, sample: int) -> int:
    """How many of some of these hashes the graph does not return when it is asked for their own vectors."""
    rows, vectors = cache.find(sorted(keys)[:sample]), cache.vectors()
    return sum(key not in index.find_nearest(layer, np.array(vectors[row.vector]), 10) for key, row in rows.items())
