"""A thread that works in rounds, one after each poke or when its time has come, until it is closed."""

import logging
import os
import threading
from collections.abc import Callable

from memory_server.errors import OneirosError

logger = logging.getLogger(__name__)

END_SECONDS = 5.0  # for the round under way when a worker is closed
NICENESS = 10


class Worker:
    """Safe to share between threads. Each round of work bears a kill, so the thread ends with the process."""

    def __init__(
        self,
        name: str,
        work: Callable[[], float | None],
        *,
        is_niced: bool = False,
        retry_seconds: float | None = None,
        end_seconds: float = END_SECONDS,
    ):
        """`work` does one round and returns in how many seconds the next one is due by itself; None: when poked.

        `retry_seconds`: the same after a round that failed. `is_niced`: other threads go before.
        """
        self._work = work
        self._is_niced = is_niced
        self._retry_seconds = retry_seconds
        self._end_seconds = end_seconds
        self._poked = threading.Event()
        self._ended = threading.Event()
        self._is_working = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begins with a first round."""
        self._poked.set()
        self._thread.start()

    def poke(self) -> None:
        """Asks for a round that begins after now; many pokes before it are one."""
        self._poked.set()

    def end(self) -> None:
        """Lets the round under way be the last, and waits for nothing."""
        self._ended.set()
        self._poked.set()

    def close(self) -> None:
        """Ends, and waits for the round under way for a bounded time."""
        self.end()
        if self._thread.ident is not None:
            self._thread.join(self._end_seconds)

    def pause(self, seconds: float) -> None:
        """Waits within a round, no longer than until the worker is ended."""
        self._ended.wait(seconds)

    @property
    def is_ended(self) -> bool:
        return self._ended.is_set()

    @property
    def is_busy(self) -> bool:
        """Whether a round is under way or was asked for. One that is only due later does not count."""
        return self._thread.is_alive() and (self._poked.is_set() or self._is_working)

    def _run(self) -> None:
        if self._is_niced and hasattr(os, "sched_setaffinity"):  # where the priority of one thread can be lowered
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
        seconds: float | None = None
        while True:
            self._poked.wait(seconds)
            self._is_working = True  # before the poke is taken, so that there is no moment without either
            self._poked.clear()
            if self._ended.is_set():
                return
            seconds = self._round()
            self._is_working = False

    def _round(self) -> float | None:
        try:
            return self._work()
        except OneirosError as error:
            logger.warning("%s: %s", self._thread.name, error)
        except Exception:  # the outermost loop of this thread: it must outlive one bad round
            logger.exception("%s: a round failed", self._thread.name)
        return self._retry_seconds
