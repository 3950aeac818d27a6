"""The progress of a long command, drawn on stderr."""

import time
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from memory_server.index.build import Progress

SHOW_AFTER_SECONDS = 1.0


class Bar:
    """A bar a stage with rate and time left, drawn when the command takes more than a second."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._begun: dict[str, float] = {}  # when each stage began
        self._tasks: dict[str, Any] = {}  # the bar of each stage that is drawn
        self._bars = Bars(
            TextColumn("{task.description:<10}"),
            BarColumn(),
            MofNCompleteColumn(),
            TaskProgressColumn(show_speed=True),
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
        begun = self._begun.setdefault(step.stage, now)
        if now - self._started < SHOW_AFTER_SECONDS:
            return
        if not self._bars.live.is_started:
            self._bars.start()
        if step.stage not in self._tasks:
            self._tasks[step.stage] = self._bars.add_task(step.stage, total=step.total, rate="")
        rate = step.done / max(now - begun, 1e-6)
        self._bars.update(self._tasks[step.stage], completed=step.done, total=step.total, rate=f"{rate:.0f}/s")
