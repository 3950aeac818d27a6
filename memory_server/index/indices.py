"""All indices of one memory root, opened together and kept level with each other.

The process that holds the root's lock owns them: it alone opens ChromaDB and writes. Any other process reads the same
ledger and vector cache, and scans exactly where the owner would ask the graph.
"""

import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from memory_server.document import Layer
from memory_server.embedding.engine import Engine, Vectors
from memory_server.embedding.model import ModelFiles
from memory_server.embedding.vector_cache import TextHash, VectorCache, token_bytes
from memory_server.embedding.workers import EmbeddingControl, WorkerPlan
from memory_server.errors import NeedsRepair
from memory_server.index.build import (
    UNFINISHED,
    Changes,
    Indexer,
    NoQuestions,
    Progress,
    Report,
    StatementQuestions,
    fill_cache,
)
from memory_server.index.ledger import VECTORS, Ledger
from memory_server.index.snapshot import ReadTable, Snapshot, find_superseded, read_passages
from memory_server.lifecycle.fading import Fading
from memory_server.machine.database import is_read_only, remove_database
from memory_server.machine.files import replace_file
from memory_server.machine.process import give_back_freed
from memory_server.root.paths import MemoryRoot

if TYPE_CHECKING:
    from memory_server.index.graph import Graph

logger = logging.getLogger(__name__)

SNAPSHOT_SHARE = 0.05  # of the time may go into reading snapshots while another process writes


class NotOwner(NeedsRepair):
    """Another process owns the memory root, and it alone may write its indices."""

    def __init__(self, root: MemoryRoot):
        super().__init__(
            f"{owner_text(root)} writes the indices of this memory",
            where=root.path,
            remedy="Wait until it is done, or end it: the daemon by `oneiros stop`",
        )


class SharedLock:
    """Lets any number of searches through, or one exchange of what they search; an exchange goes first."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._searching = 0
        self._exchanging = False

    @contextmanager
    def searching(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._exchanging)
            self._searching += 1
        try:
            yield
        finally:
            with self._changed:
                self._searching -= 1
                self._changed.notify_all()

    @contextmanager
    def exchanging(self) -> Iterator[None]:
        """Call with no search of one's own under way."""
        with self._changed:
            self._changed.wait_for(lambda: not self._exchanging)
            self._exchanging = True
            self._changed.wait_for(lambda: self._searching == 0)
        try:
            yield
        finally:
            with self._changed:
                self._exchanging = False
                self._changed.notify_all()


class Indices:
    """The ledger, the vector cache and the semantic index of a root. Safe to share between threads."""

    def __init__(
        self,
        root: MemoryRoot,
        model: ModelFiles,
        fading: Callable[[], Fading] = Fading,
        questions: Callable[[], StatementQuestions] = NoQuestions,
    ):
        """Opens nothing yet. `fading` tells how much of each source is to be held, `questions` what topics answer."""
        self._fading = fading
        self._questions = lru_cache(maxsize=1)(questions)
        self._root = root
        self._model = model
        self.search_lock = SharedLock()
        self._guard = threading.RLock()
        self._lock = FileLock(root.lock, timeout=0, thread_local=False)
        self._ledger: Ledger | None = None
        self._retired: list[Ledger | VectorCache] = []  # of files that were replaced; a thread may still be reading one
        self._cache: VectorCache | None = None
        self._checked: VectorCache | None = None  # whether it holds what it should is looked at once, or when rows went
        self._graph: Graph | None = None  # in the process that keeps one
        self.ask_for_graph: Callable[[], None] = lambda: None  # called where a question lost it
        self.looks = {"chromadb": 0, "scan": 0}  # for what is near, without a filter; some answers take two or three
        self._snapshot: Snapshot | None = None
        self._table: ReadTable | None = None  # of the snapshot
        self._filled = ""  # the note of the semantic index that it was read with
        self._seen = (-1, 0.0, 0.0)  # generation of the snapshot, when it was read, how long that took

    def close(self) -> None:
        """Closes every file and gives the root back."""
        with self._guard:
            for part in (self._graph, self._cache, self._ledger, *self._retired):
                if part is not None:
                    part.close()
            self._retired = []
            self._cache = self._ledger = self._snapshot = self._table = None
            self._lock.release(force=True)

    # -- ownership ----------------------------------------------------------------------------------------------

    @property
    def is_owner(self) -> bool:
        return bool(self._lock.is_locked)

    def own(self) -> bool:
        """Takes the root for this process; false where another one has it."""
        self._root.derived_folder.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire()
        except Timeout:
            return False
        except OSError as error:
            raise NeedsRepair(
                f"the lock cannot be taken ({error.strerror})",
                where=self._root.lock,
                remedy="Check the folder's rights",
            ) from error
        replace_file(owner_file(self._root), f"{os.getpid()}\n")
        return True

    def disown(self) -> None:
        """Gives the root back without closing what is read."""
        with self._guard:
            self._close_graph()
            self._lock.release()

    def owner(self) -> str:
        """Which process owns the root, in words; empty where none does."""
        if self.is_owner:
            return f"process {os.getpid()}"
        if is_read_only(self._root.derived_folder):
            return ""
        if self.own():
            self._lock.release()
            return ""
        return owner_text(self._root)

    # -- reading ------------------------------------------------------------------------------------------------

    @property
    def ledger(self) -> Ledger:
        """The ledger for reading. Raises NeedsRepair where its file is damaged or of another format."""
        with self._guard:
            if self._ledger is not None and not self._ledger.is_current:
                self._retire_ledger()
            if self._ledger is None:
                self._ledger = Ledger(self._root.ledger)
            return self._ledger

    @property
    def cache(self) -> VectorCache:
        with self._guard:
            if self._cache is not None and not self._cache.is_current:
                self._retire_cache()
            if self._cache is None:
                self._cache = self.open_cache(self._model)
            return self._cache

    @property
    def graph(self) -> "Graph":
        """The graph beside the scan, which answers nothing until it is brought level."""
        if (graph := self._graph) is None:
            from memory_server.index.graph import Graph  # noqa: PLC0415  only the process that owns the root keeps one

            with self._guard:
                graph = self._graph = self._graph or Graph(self._root.semantic_index, self._model.fingerprint)
        return graph

    def _close_graph(self) -> None:
        if self._graph is not None:
            self._graph.close()

    def open_cache(self, model: ModelFiles) -> VectorCache:
        """The vectors that are kept of a model."""
        folder = self._root.vector_cache / model.fingerprint
        return VectorCache(folder, model.card.dimensions, token_bytes(model.token_dimensions))

    def snapshot(self) -> Snapshot:
        """The indices as they are now; read again only when they have changed."""
        with self._guard:
            generation, (seen, at, took) = self.ledger.generation(), self._seen
            now = time.monotonic()
            is_fresh = self._snapshot is not None and (generation == seen or now - at < took / SNAPSHOT_SHARE)
            if not is_fresh:
                cache = self.cache
                # a ledger of its own: other threads are reading the shared one
                with closing(Ledger(self._root.ledger)) as ledger:
                    # the note is another where vectors were lost, whose rows are used again
                    filled = ledger.note(VECTORS)
                    before = self._table if self._snapshot is not None and filled == self._filled else None
                    self._table, self._filled = read_passages(ledger, cache.key_file, before), filled
                sources = self._table.sources
                self._snapshot = Snapshot(
                    self._table.passages, sources, cache.vectors(), cache.tokens(), find_superseded(sources)
                )
                self._seen = (generation, now, time.monotonic() - now)
            assert self._snapshot is not None
            return self._snapshot

    def nearest_rows(
        self, layers: Sequence[Layer], sources: Collection[int] | None, question: Vectors, limit: int
    ) -> list[int] | None:
        """The rows nearest to a question by the graph, which knows no filter, and those that it may not hold yet; None
        where the caller has to scan.
        """
        if sources is not None:
            return None
        found: list[int] = []
        with self._guard:
            for layer in layers:
                graph = self._graph if self._graph is not None and self._graph.is_level else None
                keys = graph.find_nearest(layer, question, limit) if graph is not None else None
                if keys is None:
                    if graph is not None:
                        self.ask_for_graph()
                    self.looks["scan"] += 1
                    return None
                found += self.ledger.find_rows(layer, keys)
            self.looks["chromadb"] += 1
        return found

    # -- writing ------------------------------------------------------------------------------------------------

    def changes(self) -> Changes:
        """What a reindex would read or remove."""
        with self._guard:
            return self._make_indexer(self.ledger).changes()

    def reindex(
        self,
        engine: Callable[[], Engine],
        plan: WorkerPlan | EmbeddingControl,
        report_progress: Callable[[Progress], None],
        *,
        rebuild: bool,
        begin: Callable[[], None] = lambda: None,
        read_more: Callable[[], None] = lambda: None,
        finish: Callable[[], None] = lambda: None,
    ) -> Report:
        """Brings everything level with the disk. `rebuild` starts from nothing but the vector cache.

        `begin` is called when the root is owned, before anything is read; `read_more` when all words are read and
        topics embedded; `finish` on the new indices, before the run counts as done. Raises NotOwner where another
        process owns the root.
        """
        was_owner = self.is_owner
        if not was_owner and not self.own():
            raise NotOwner(self._root)
        try:
            begin()
            if rebuild:
                with self.search_lock.exchanging():
                    self._drop()
            return self._reindex(engine, plan, report_progress, read_more, finish)
        finally:
            with self._guard:
                self._seen = (-1, 0.0, 0.0)
                if not was_owner:
                    self._close_graph()
                    self._lock.release()

    def _reindex(
        self,
        engine: Callable[[], Engine],
        plan: WorkerPlan | EmbeddingControl,
        report_progress: Callable[[Progress], None],
        read_more: Callable[[], None],
        finish: Callable[[], None],
    ) -> Report:
        ledger = Ledger(self._root.ledger)  # a connection of its own, so that queries go on beside it
        try:
            self._prepare_vectors(ledger)
            ledger.set_note(UNFINISHED, "yes")
            report = self._make_indexer(ledger).run(engine, plan, report_progress, read_more)
            with self._guard:
                self._seen = (-1, 0.0, 0.0)
            finish()
            ledger.set_note(UNFINISHED, "")
            return report
        finally:
            ledger.close()

    def _make_indexer(self, ledger: Ledger) -> Indexer:
        def learn(report_progress: Callable[[Progress], None]) -> None:
            if self.graph.is_level:  # one that is not is filled behind the run, for which nobody waits
                self.graph.bring_level(ledger.list_keys_by_layer(), self.cache, report_progress)

        return Indexer(self._root, ledger, self.cache, self._fading(), self._questions(), learn)

    def bring_graph_level(self, report_progress: Callable[[Progress], None]) -> None:
        """Opens the graph, and fills it with what it lacks. The process must own the root, with no run under way."""
        if not self.graph.is_level:
            with closing(Ledger(self._root.ledger)) as ledger:
                self.graph.bring_level(ledger.list_keys_by_layer(), self.cache, report_progress)
            give_back_freed()  # the hashes as ChromaDB lists them: 36 MB of 100,000

    def _retire_ledger(self) -> None:
        if self._ledger is not None:
            self._retired.append(self._ledger)
        self._ledger = self._snapshot = None
        self._seen = (-1, 0.0, 0.0)

    def _retire_cache(self) -> None:
        if self._cache is not None:
            self._retired.append(self._cache)
        self._cache = self._snapshot = None

    def _drop(self) -> None:
        """Deletes the ledger and the graph; the query log and the vector cache, unless damaged, stay."""
        with self._guard:
            if not self._cache_is_whole():
                shutil.rmtree(self._cache_folder, ignore_errors=True)
            self.graph.drop()
            self._retire_ledger()
            remove_database(self._root.ledger)

    def _cache_is_whole(self) -> bool:
        try:
            return self.cache.is_whole()
        except NeedsRepair:
            return False

    def keep_vectors(self, hashes: Collection[TextHash]) -> None:
        """Rewrites the vector cache with those of these texts alone, and drops the graph: not a byte of others stays.

        Call with no search under way. Raises NotOwner where another process owns the root.
        """
        if not self.own():
            raise NotOwner(self._root)
        try:
            with self._guard:
                self.graph.drop()
                self.cache.keep_alone(hashes)
                self._cache = self._snapshot = None
        finally:
            self._lock.release()

    # -- another model ------------------------------------------------------------------------------------------

    def prepare_model(
        self,
        model: ModelFiles,
        engine: Callable[[], Engine],
        plan: WorkerPlan | EmbeddingControl,
        report_progress: Callable[[Progress], None],
    ) -> None:
        """Embeds every passage with another model, beside the indices in use; what an earlier try did is kept.

        The process must own the root.
        """
        ledger, cache = Ledger(self._root.ledger), self.open_cache(model)
        try:
            while True:
                texts = ledger.texts()
                known = cache.find(texts)
                missing = [(key, text) for key, text in texts.items() if key not in known]
                if not missing:
                    return
                done = len(known)
                fill_cache(
                    cache,
                    missing,
                    engine(),
                    plan,
                    lambda step, done=done: report_progress(  # type: ignore[misc]  # a default binds the round's value
                        Progress(step.stage, done + step.done, done + step.total)
                    ),
                )
        finally:
            cache.close()
            ledger.close()

    def switch_model(self, model: ModelFiles) -> None:
        """Searches with the vectors of another model from here on. Call while `search_lock` lets no search through."""
        with self._guard:
            self._close_graph()
            self._graph = None
            if self._cache is not None:
                self._cache.close()
            self._cache = self._snapshot = None
            self._seen = (-1, 0.0, 0.0)
            self._model = model

    # -- the vectors --------------------------------------------------------------------------------------------

    def _prepare_vectors(self, ledger: Ledger) -> None:
        """Makes sure that what counts as found by meaning has vectors of this model."""
        if self.cache.drop_lost():
            with self._guard:  # whoever knows its rows by this cache reads them anew: they are used again
                self._retire_cache()
        fingerprint, _, number = ledger.note(VECTORS).rpartition("-")
        is_ours = fingerprint == self._model.fingerprint
        if is_ours and (self.cache is self._checked or not self._has_lost_vectors(ledger)):
            self._checked = self.cache
            return
        if is_ours:
            logger.warning("the vector cache lost vectors; they are made again")
        ledger.set_note(VECTORS, f"{self._model.fingerprint}-{int(number or 0) + 1}")
        ledger.unconfirm()
        self._checked = self.cache

    def _has_lost_vectors(self, ledger: Ledger) -> bool:
        """Whether a passage that counts as found by meaning has no vector, as after the cache was deleted."""
        ledger.connection.execute("attach database ? as cache", (str(self.cache.key_file),))
        lost = ledger.connection.execute(
            "select exists(select 1 from chunk where is_semantic and text_hash is not null"
            " and text_hash not in (select text_hash from cache.row))"
        ).fetchone()[0]
        ledger.connection.execute("detach database cache")
        return bool(lost)

    def count_wrong(self, sample: int) -> tuple[int, int]:
        """How many passages have no vector, or another one in the graph than they should; how many of `sample` of each
        layer the graph does not return when it is asked for their own.
        """
        keys = [key for layer in Layer for key in self.ledger.list_confirmed_keys(layer).values()]
        known = self.cache.find(keys)
        wrong, unreached = self.graph.count_wrong(self.ledger.list_keys_by_layer, self.cache, sample)
        return wrong + sum(key not in known for key in keys), unreached

    @property
    def fingerprint(self) -> str:
        """Of the model whose vectors are searched."""
        return self._model.fingerprint

    @property
    def _cache_folder(self) -> Path:
        return self._root.vector_cache / self._model.fingerprint


def owner_file(root: MemoryRoot) -> Path:
    """Beside the lock: the process id of whoever took it last."""
    return root.derived_folder / "owner"


def owner_text(root: MemoryRoot) -> str:
    """`process 123` where the owner wrote its number."""
    try:
        return f"process {owner_file(root).read_text(encoding='utf-8').strip()}"
    except OSError:
        return "another process"
