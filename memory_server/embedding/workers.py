"""A pool of embedding workers: one pinned thread each, niced, fed with batches sorted by length.

Queries do not pass through here. They run on the thread that asks, at normal priority, so that indexing never makes
a person wait.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from types import TracebackType
from typing import Generic

from memory_server.embedding.engine import Made, Maker
from memory_server.errors import OneirosError

MAX_BATCH = 8  # larger batches only add padding and memory on a CPU: 15.0 texts/s at 8, 10.2 at 32
MAX_BATCH_TOKENS = 2_048
COUNTED_AT_ONCE = 512
NICENESS = 10


@dataclass(frozen=True, slots=True)
class WorkerPlan:
    """Which cores embed: one worker a core."""

    cores: tuple[int, ...]

    @classmethod
    def of_share(cls, share: float) -> "WorkerPlan":
        """A share of the cores that this process may use, at least one; the last ones: the first is the busiest."""
        usable = usable_cores()
        count = max(1, min(len(usable), round(len(usable) * share)))
        return cls(tuple(usable[-count:]))

    @classmethod
    def of_settings(cls, share: float, cores: Sequence[int]) -> "WorkerPlan":
        """The listed cores that this process may use; a share of them where none is listed."""
        usable = set(usable_cores())
        listed = tuple(core for core in cores if core in usable)
        return cls(listed) if listed else cls.of_share(share)


def usable_cores() -> list[int]:
    """The cores that this process may run on, in order."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


class Interrupted(OneirosError):
    """Indexing was told to end; what was embedded is kept, and the next run goes on from there."""


class EmbeddingControl:
    """Steers the workers while they run: which cores they use, whether they rest, whether they end."""

    def __init__(self, plan: Callable[[], WorkerPlan]):
        """`plan` is asked before every batch."""
        self.plan = plan
        self._may_run = threading.Event()
        self._may_run.set()
        self._is_ended = False

    @property
    def is_paused(self) -> bool:
        return not self._may_run.is_set()

    def pause(self) -> None:
        """Lets the batches under way end and starts no more."""
        self._may_run.clear()

    def resume(self) -> None:
        self._may_run.set()

    def end(self) -> None:
        """Ends every run for good, paused or not."""
        self._is_ended = True
        self._may_run.set()

    def pass_or_wait(self) -> None:
        """Returns when the next batch may start. Raises Interrupted after `end`."""
        self._may_run.wait()
        if self._is_ended:
            raise Interrupted("indexing was ended", remedy="The next start goes on from there")


class WorkerPool(Generic[Made]):
    """Embeds many texts with the workers of a plan. A context manager; `close` waits for batches under way."""

    def __init__(self, engine: Maker[Made], plan: WorkerPlan | EmbeddingControl):
        self._engine = engine
        self._control = plan if isinstance(plan, EmbeddingControl) else EmbeddingControl(lambda: plan)
        self._lock = threading.Lock()
        self._start_workers(self._control.plan())

    def _start_workers(self, plan: WorkerPlan) -> None:
        self._plan = plan
        free_cores = list(plan.cores)
        self._threads = ThreadPoolExecutor(
            len(plan.cores), "embedding", initializer=self._pin_thread, initargs=(free_cores,)
        )

    def _follow_plan(self) -> None:
        """Waits while the workers are paused, and moves them to other cores where the plan has changed."""
        self._control.pass_or_wait()
        plan = self._control.plan()
        if plan != self._plan:
            old = self._threads
            self._start_workers(plan)
            old.shutdown(wait=False)  # its batches under way end there

    def embed(self, texts: Sequence[str]) -> Iterator[tuple[int, Made]]:
        """Each text's place and its vectors, in the order in which they are done. Bounded in memory."""
        batches = iter(self._batches(texts))
        running: set[Future[list[tuple[int, Made]]]] = set()
        try:
            while True:
                self._follow_plan()
                while len(running) < 2 * len(self._plan.cores) and (batch := next(batches, None)):
                    running.add(self._threads.submit(self._embed_batch, batch, [texts[place] for place in batch]))
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield from future.result()
        finally:
            for future in running:
                future.cancel()

    def close(self) -> None:
        self._threads.shutdown(cancel_futures=True)
        self._engine.rest()

    def __enter__(self) -> "WorkerPool[Made]":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _embed_batch(self, places: Sequence[int], texts: Sequence[str]) -> list[tuple[int, Made]]:
        return list(zip(places, self._engine.embed(texts), strict=True))

    def _batches(self, texts: Sequence[str]) -> Iterator[list[int]]:
        """Places of texts of as many tokens, the first that are given first, and of a stretch of them the longest.

        They are counted for a stretch of texts at a time, which takes a hundredth of the time of embedding them, and
        memory while it lasts.
        """
        for start in range(0, len(texts), COUNTED_AT_ONCE):
            part = range(start, min(start + COUNTED_AT_ONCE, len(texts)))
            counts = dict(zip(part, self._engine.count_tokens([texts[place] for place in part]), strict=True))
            batch: list[int] = []
            for place in sorted(part, key=lambda place: -counts[place]):
                longest = counts[batch[0]] if batch else 0
                if batch and (len(batch) == MAX_BATCH or longest * (len(batch) + 1) > MAX_BATCH_TOKENS):
                    yield batch
                    batch = []
                batch.append(place)
            yield batch

    def _pin_thread(self, free_cores: list[int]) -> None:
        """Pins the calling thread to a core of its own and lowers its priority, where the platform can."""
        with self._lock:
            core = free_cores.pop()
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {core})  # 0: this thread
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
