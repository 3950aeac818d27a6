"""The one thread of the daemon that writes indices: it owns the root and keeps it level with the disk.

Whoever sees a change pokes it; a hundred pokes are one run. It also carries out a rebuild and a change of model. What a
run cannot do is kept as one sentence for `status`, and tried again later, further and further apart.
"""

import logging
import threading
import time
from collections.abc import Callable

from memory_server.embedding.workers import Interrupted
from memory_server.errors import OneirosError
from memory_server.faces.indexing import IndexingState
from memory_server.index.build import Progress, Report
from memory_server.memory import Memory

logger = logging.getLogger(__name__)

SETTLE_SECONDS = 0.15  # after a change; an editor writes a file in several steps
MOST_SETTLE_SECONDS = 0.6  # however often it changes: what stands there is indexed, and looked at again
ROOT_RETRY_SECONDS = 1.0  # while another process owns the root
FIRST_RETRY_SECONDS = 2.0  # after a failure
LAST_RETRY_SECONDS = 300.0
FIRST_INDEX_SECONDS = 20.0  # from its beginning, for which questions wait; beyond, they are told how far it is
START_SECONDS = 2.0  # likewise for the look at the disk with which every daemon begins


class Keeper:
    """Runs until it is closed."""

    def __init__(self, memory: Memory, on_change: Callable[[], None] = lambda: None):
        """`on_change` is called after every run that may have taken time, so that the daemon does not count as idle."""
        self._memory = memory
        self._on_change = on_change
        self._wake = threading.Condition()
        self._wanted = 1  # pokes so far; the first run is due at the start
        self._served = 0  # of these, how many a finished run has covered
        self._poked_at = 0.0
        self._rebuild = self._anyway = False
        self._is_closed = False
        self._stage = Progress("waiting", 0, 0)
        self._runs = 0
        self._error = ""
        self._last: Report | None = None
        self._began_at: float | None = time.monotonic()  # of the run under way or, at the start, due
        self.watching: Callable[[], str] = lambda: ""  # how changes are seen
        self._thread = threading.Thread(target=self._work, name="keeper")

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Ends the run under way at its next batch and waits for it."""
        with self._wake:
            self._is_closed = True
            self._wake.notify_all()
        self._memory.embedding.end()
        if self._thread.ident is not None:
            self._thread.join()

    def poke(self, *, rebuild: bool = False, anyway: bool = False) -> int:
        """Something may have changed. Returns a ticket for `wait`. `anyway`: reports even where nothing has."""
        with self._wake:
            self._wanted += 1
            self._rebuild |= rebuild
            self._anyway |= anyway
            self._poked_at = time.monotonic()
            self._wake.notify_all()
            return self._wanted

    def wait(self, ticket: int, seconds: float) -> bool:
        """Waits until a run that began after the ticket is done; false where time runs out or the keeper ends."""
        with self._wake:
            self._wake.wait_for(lambda: self._served >= ticket or self._is_closed, timeout=seconds)
            return self._served >= ticket

    def before_search(self, is_indexed: bool) -> str:
        """Waits for the run that a question needs, for a bounded time: the one that makes the indices, or the one that
        looks at the start for what has changed meanwhile. A sentence where the indices are still not made.
        """
        with self._wake:
            if is_indexed and self._served:
                return ""
            if self._began_at is not None:
                bound = START_SECONDS if is_indexed else FIRST_INDEX_SECONDS
                left = self._began_at + bound - time.monotonic()
                self._wake.wait_for(lambda: self._is_closed or self._began_at is None, timeout=max(0.0, left))
            if is_indexed:
                return ""
            if self._began_at is None:
                return f"This memory could not be indexed: {self._error}" if self._error else ""
        return f"This memory is being indexed for the first time{_how_far(self._stage)}. Ask again in a moment."

    @property
    def is_busy(self) -> bool:
        return self._stage.stage not in ("idle", "waiting")

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
            next_model=memory.next_model,
            watching=self.watching(),
            share=memory.person.embedding_share,
            cores=memory.embedding.plan().cores,
        )

    @property
    def last_report(self) -> Report | None:
        """Of the last run that succeeded."""
        return self._last

    # -- the thread ---------------------------------------------------------------------------------------------

    def _work(self) -> None:
        if not self._take_root():
            return
        retry = FIRST_RETRY_SECONDS
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._is_closed or self._served < self._wanted)
                if self._is_closed:
                    return
            self._settle()
            ticket, rebuild, anyway = self._take_order()
            try:
                self._run(rebuild, anyway)
                self._error, retry = "", FIRST_RETRY_SECONDS
            except Interrupted:
                return
            except Exception as error:  # the outermost loop of this thread: it must outlive one bad run
                self._error = str(error) if isinstance(error, OneirosError) else f"indexing failed: {error!r}"
                logger.error("%s", self._error, exc_info=not isinstance(error, OneirosError))
                self._finish(ticket)
                if self._closed_within(retry):
                    return
                retry = min(2 * retry, LAST_RETRY_SECONDS)
                self.poke()
                continue
            self._finish(ticket)

    def _take_root(self) -> bool:
        """Waits until the root is ours; false where the keeper is closed before."""
        while not self._closed_within(0):
            try:
                if self._memory.indices.own():
                    return True
                self._error = ""
            except OneirosError as error:
                self._error = str(error)
            if self._closed_within(ROOT_RETRY_SECONDS):
                return False
        return False

    def _settle(self) -> None:
        """Waits until the changes have come to rest, for a bounded time."""
        end = time.monotonic() + MOST_SETTLE_SECONDS
        while (now := time.monotonic()) < end and now - self._poked_at < SETTLE_SECONDS:
            if self._closed_within(SETTLE_SECONDS - (now - self._poked_at)):
                return

    def _take_order(self) -> tuple[int, bool, bool]:
        with self._wake:
            rebuild, anyway = self._rebuild, self._anyway
            self._rebuild = self._anyway = False
            self._began_at = time.monotonic()
            return self._wanted, rebuild, anyway

    def _run(self, rebuild: bool, anyway: bool) -> None:
        memory = self._memory
        anyway = rebuild or anyway or memory.is_of_another_format()
        if anyway or not memory.changes().is_empty or memory.is_unfinished():
            self._stage = Progress("reading", 0, 0)
            self._last = self._memory.reindex(rebuild=rebuild, report_progress=self._show)
        if self._memory.next_model:
            self._memory.change_model(self._show)
        self._runs += 1

    def _show(self, step: Progress) -> None:
        self._stage = step
        self._on_change()

    def _finish(self, ticket: int) -> None:
        with self._wake:
            self._stage = Progress("idle", 0, 0)
            self._served = max(self._served, ticket)
            self._began_at = None
            self._wake.notify_all()
        self._on_change()

    def _closed_within(self, seconds: float) -> bool:
        with self._wake:
            return self._wake.wait_for(lambda: self._is_closed, timeout=seconds)


def _how_far(stage: Progress) -> str:
    """`, embedding 3 of 40`; empty where that is not known yet."""
    return f", {stage.stage} {stage.done} of {stage.total}" if stage.total else ""
