"""The one worker of the daemon that writes indices: it owns the root and brings it level with the disk.

Whoever sees a change pokes it; a hundred pokes are one run. It also carries out a rebuild and a change of model. What
is written while a long run embeds is not kept waiting: that run is left, what it has made stays, and the next one reads
what was written before it goes on. What a run cannot do stands as one sentence in `status`, and is tried again later,
further and further apart.
"""

import logging
import math
import threading
import time
from collections.abc import Callable

from memory_server.completeness import tell_stage
from memory_server.embedding.workers import Interrupted
from memory_server.errors import OneirosError
from memory_server.faces.indexing import FRESH_SECONDS, IndexingState
from memory_server.index.build import EMBEDDING, INDEXING, Progress, Report
from memory_server.index.raw import READING_TURNS
from memory_server.memory import Memory
from oneiros.worker import Worker

logger = logging.getLogger(__name__)

REST_SECONDS = 0.15  # after a change; an editor writes a file in several steps
MOST_REST_SECONDS = 0.6  # however often it changes: what stands there is indexed, and looked at again
ROOT_RETRY_SECONDS = 1.0  # while another process owns the root
FIRST_RETRY_SECONDS = 2.0  # after a failure
LAST_RETRY_SECONDS = 300.0
FIRST_INDEX_SECONDS = 20.0  # from its beginning, for which questions wait until words are found; they are told the rest
START_SECONDS = 2.0  # likewise for the look at the disk with which every daemon begins
BEHIND = "What was written last is not indexed yet."
GRAPH_SECONDS = 3.0  # behind the first run, so that the first answer does not share the processor with the import
END_SECONDS = 30.0  # for the batch under way when it is closed


class Overtaken(Exception):
    """Something was written while a run embeds: a signal inside this module, not an error of anybody's."""


class IndexRuns:
    """Runs while its worker does."""

    def __init__(
        self, memory: Memory, on_change: Callable[[], None] = lambda: None, watching: Callable[[], str] = lambda: ""
    ):
        """`on_change` is called after every run that something asked for and at every step of one, so that the daemon
        does not count as idle; `watching` says how changes are seen.
        """
        self._memory = memory
        self._on_change = on_change
        self._watching = watching
        self._served = threading.Condition()
        self._wanted = 1  # pokes so far; the first run is due at the start
        self._covered = 0  # of these, how many a finished run has
        self._read = 0  # and how many can be found by words, and topics by meaning
        self._ordered = 0  # those that the run under way has
        self._written = 0  # the last poke after a write, for which questions wait
        self._written_at = 0.0  # the first such one that no finished run has
        self._poked_at = 0.0
        self._rebuild = self._anyway = False
        self._stage = Progress("waiting", 0, 0)
        self._runs = 0
        self._graph_at = math.inf  # from when on ChromaDB is kept, in the clock's seconds
        self._error = ""
        self._retry_seconds = FIRST_RETRY_SECONDS
        self._last: Report | None = None
        self._began_at: float | None = time.monotonic()  # of the run under way or, at the start, due
        self.worker = Worker("indexer", self._run, end_seconds=END_SECONDS)
        memory.indices.ask_for_graph = self.worker.poke

    def close(self) -> None:
        """Ends the run under way at its next batch and waits for it."""
        self.worker.end()
        with self._served:
            self._served.notify_all()
        self._memory.embedding.end()
        self.worker.close()

    def poke(self, *, rebuild: bool = False, anyway: bool = False) -> int:
        """Something may have changed. Returns a ticket for `wait`. `anyway`: reports even where no file has, and no
        question waits for it.
        """
        with self._served:
            self._wanted += 1
            if not anyway:  # a file or a note was written
                if self._covered >= self._written:
                    self._written_at = time.monotonic()
                self._written = self._wanted
            self._rebuild |= rebuild
            self._anyway |= anyway
            if rebuild:
                self._error = ""  # which it is to mend
            self._poked_at = time.monotonic()
            ticket = self._wanted
        self.worker.poke()
        return ticket

    def wait(self, ticket: int, seconds: float) -> bool:
        """Waits until a run that began after the ticket is done; false where time runs out or the indexer ends."""
        with self._served:
            self._served.wait_for(lambda: self._covered >= ticket or self.worker.is_ended, timeout=seconds)
            return self._covered >= ticket

    def before_search(self, is_indexed: bool) -> str:
        """Waits for the run that a question needs, for a bounded time: the one that makes the indices, the one that
        looks at the start for what has changed meanwhile, or the one behind a write. A sentence where it is not done.
        """
        told = self._wait_for_run(is_indexed)
        return self._tell_unfinished() if told is None else told

    def _wait_for_run(self, is_indexed: bool) -> str | None:
        """Waits as `before_search` does; None where what the indices hold tells the rest."""
        with self._served:
            if is_indexed and self._covered:
                left = self._written_at + FRESH_SECONDS - time.monotonic()
                is_ready = self._served.wait_for(
                    lambda: self.worker.is_ended or self._read >= self._written, timeout=max(0.0, left)
                )
                return None if is_ready and not self._error else f"{BEHIND} {self._error}".rstrip()
            if self._began_at is not None:
                bound = START_SECONDS if is_indexed else FIRST_INDEX_SECONDS
                left = self._began_at + bound - time.monotonic()
                self._served.wait_for(
                    lambda: self.worker.is_ended or self._began_at is None or (not is_indexed and self._is_read()),
                    timeout=max(0.0, left),
                )
            if is_indexed:
                return f"{BEHIND} {self._error}" if self._error else None
            if self._began_at is None:
                return f"This memory could not be indexed: {self._error}" if self._error else ""
        return f"This memory is being indexed for the first time{_how_far(self._stage)}. Ask again in a moment."

    def _is_read(self) -> bool:
        """Whether the run under way has come so far that all is found by words, and topics by meaning."""
        return self._read >= self._ordered > 0

    def _tell_unfinished(self) -> str:
        """That an answer may lack something while a run embeds, here or in another process; empty where none does."""
        if not self._memory.upkeep.is_embedding():
            return ""
        goes = "is paused" if self._memory.embedding.is_paused else "goes on"
        return f"Indexing {goes}{_how_far(self._stage)}: this answer may lack something."

    def state(self) -> IndexingState:
        """What it is doing."""
        memory = self._memory
        return IndexingState(
            stage=self._stage.stage,
            progress=self._stage.done,
            total=self._stage.total,
            owns_root=memory.indices.is_owner,
            runs=self._runs,
            error=self._error,
            paused=memory.embedding.is_paused,
            model=memory.model.card.name,
            next_model=memory.upkeep.next_model,
            watching=self._watching(),
            share=memory.person.embedding_share,
            cores=memory.embedding.plan().cores,
            semantic=self._what_answers(),
            looks=dict(memory.indices.looks),
        )

    def _what_answers(self) -> str:
        """Which of both answers a question without a filter, and why where it is the scan."""
        graph = self._memory.indices.graph
        if graph.is_level:
            return "ChromaDB"
        if not self._wants_graph():
            return "a scan, as you set it"
        return f"a scan: {graph.trouble}" if graph.trouble else "a scan, until ChromaDB is filled"

    def _wants_graph(self) -> bool:
        return self._memory.person.semantic == "chromadb"

    @property
    def last_report(self) -> Report | None:
        """Of the last run that succeeded."""
        return self._last

    # -- the worker's rounds ------------------------------------------------------------------------------------

    def _run(self) -> float | None:
        """One run; in how many seconds it is to be tried again where it failed."""
        if not self._owns_root():
            return ROOT_RETRY_SECONDS
        self._wait_for_rest()
        ticket, rebuild, anyway = self._take_order()
        retry = None
        try:
            self._bring_level(rebuild, anyway)
            self._error, self._retry_seconds = "", FIRST_RETRY_SECONDS
        except Interrupted:
            return None
        except Overtaken:
            with self._served:
                self._rebuild |= rebuild
                self._anyway = True
            return 0.0
        except Exception as error:  # told in the status, and tried again
            self._error = str(error) if isinstance(error, OneirosError) else f"indexing failed: {error!r}"
            logger.error("%s", self._error, exc_info=not isinstance(error, OneirosError))
            retry = self._retry_seconds
            self._retry_seconds = min(2 * retry, LAST_RETRY_SECONDS)
        self._finish(ticket)
        return self._keep_graph() if retry is None else retry

    def _keep_graph(self) -> float | None:
        """Opens and fills the graph behind a run, for which nobody waits; in how many seconds it is to be looked at."""
        indices = self._memory.indices
        if not self._wants_graph():
            indices.graph.drop()
            return None
        self._graph_at = min(self._graph_at, time.monotonic() + GRAPH_SECONDS)
        if (left := self._graph_at - time.monotonic()) > 0:
            return left
        try:
            indices.bring_graph_level(self._show)
        except Overtaken:
            return 0.0
        except Interrupted:
            return None
        finally:
            self._stage = Progress("idle", 0, 0)
        return LAST_RETRY_SECONDS if indices.graph.trouble else None

    def _owns_root(self) -> bool:
        """Whether the root is ours, by now."""
        indices = self._memory.indices
        try:
            is_ours = indices.is_owner or indices.own()
        except (OneirosError, OSError) as error:
            self._error = str(error)
            return False
        if not is_ours:
            self._error = ""
        return is_ours

    def _wait_for_rest(self) -> None:
        """Waits until no more changes come, for a bounded time."""
        end = time.monotonic() + MOST_REST_SECONDS
        while not self.worker.is_ended and (now := time.monotonic()) < min(end, self._poked_at + REST_SECONDS):
            self.worker.pause(self._poked_at + REST_SECONDS - now)

    def _take_order(self) -> tuple[int, bool, bool]:
        with self._served:
            rebuild, anyway = self._rebuild, self._anyway
            self._rebuild = self._anyway = False
            self._began_at, self._ordered = time.monotonic(), self._wanted
            return self._wanted, rebuild, anyway

    def _bring_level(self, rebuild: bool, anyway: bool) -> None:
        memory = self._memory
        anyway = rebuild or anyway or memory.is_of_another_format()
        if anyway or not memory.upkeep.changes().is_empty or memory.is_unfinished():
            self._stage = Progress("reading", 0, 0)
            self._last = memory.reindex(rebuild=rebuild, report_progress=self._show)
        else:
            memory.upkeep.point()  # a commit alone may have approved a topic
        if memory.upkeep.next_model:
            memory.change_model(self._show)
        self._runs += 1

    def _show(self, step: Progress) -> None:
        self._stage = step
        self._on_change()
        with self._served:
            if step.stage in (READING_TURNS, EMBEDDING):
                self._read = max(self._read, self._ordered)
                self._served.notify_all()
            if step.stage in (EMBEDDING, INDEXING) and step.done < step.total and self._written > self._ordered:
                raise Overtaken
        if step.stage == INDEXING and self.worker.is_ended:
            raise Interrupted("the daemon ends")

    def _finish(self, ticket: int) -> None:
        with self._served:
            self._stage = Progress("idle", 0, 0)
            is_new = ticket > self._covered
            self._covered = max(self._covered, ticket)
            self._read = max(self._read, ticket)
            self._began_at = None
            self._served.notify_all()
        if is_new:
            self._on_change()


def _how_far(stage: Progress) -> str:
    """`, embedding 3 of 40 passages`; empty where that is not known yet."""
    return f", {tell_stage(stage.stage, stage.done, stage.total)}" if stage.total else ""
