"""The progress of a long command, drawn on stderr."""

import time
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from memory_server.index.build import Progress

SHOW_AFTER_SECONDS = 1.0
LEAST_SECONDS = 2.0  # of a stage, before which a rate says nothing


class Bar:
    """One bar, of the stage under way, with rate and time left; drawn when the command takes more than a second."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._first = (self._started, Progress("", 0, 0))  # what was first seen of the stage, and when
        self._last = Progress("", 0, 0)
        self._task: Any = None
        self._bars = Bars(
            TextColumn("{task.description:<10}"),
            BarColumn(),
            MofNCompleteColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._bars.live.is_started:
            self._bars.stop()

    def show(self, step: Progress) -> None:
        """Draws one step of a stage."""
        now = time.monotonic()
        is_new = step.stage != self._last.stage or step.done < self._last.done
        self._last = step
        if is_new:
            self._first = now, step
        if now - self._started < SHOW_AFTER_SECONDS:
            return
        if not self._bars.live.is_started:
            self._bars.start()
            self._task = self._bars.add_task(step.stage, total=step.total, rate="")
        elif is_new:
            self._bars.reset(self._task, total=step.total, description=step.stage, rate="")
        since, first = self._first
        rate = rate_text(step.done - first.done, now - since)
        self._bars.update(self._task, completed=step.done, total=step.total, rate=rate)


def rate_text(done: int, seconds: float) -> str:
    """`17/s`, or `1 in 4 s` where it is slow; empty while too little is known."""
    if done <= 0 or seconds < LEAST_SECONDS:
        return ""
    return f"{done / seconds:.0f}/s" if done >= seconds else f"1 in {seconds / done:.0f} s"
