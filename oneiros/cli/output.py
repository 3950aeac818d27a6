"""What commands print: data on stdout, talk on stderr.

Colour is left out where the output is no terminal, with NO_COLOR or TERM=dumb, and with --no-color; it never carries a
meaning alone.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from memory_server.index import build

SHOW_AFTER_SECONDS = 1.0


def talk(text: str = "") -> None:
    """A remark for the person, on stderr."""
    print(text, file=sys.stderr)


def data(text: str) -> None:
    """What was asked for, on stdout."""
    print(text)


def data_json(value: Any) -> None:
    """One JSON object on stdout."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


def data_line(value: Any) -> None:
    """One JSON object on a line of its own, at once: for a stream that somebody reads while it is written."""
    print(json.dumps(value, ensure_ascii=False), flush=True)


def styled(*, no_color: bool = False) -> Console:
    """A console for stdout that leaves text as it is: nothing in it is markup."""
    return Console(no_color=no_color or None, highlight=False, markup=False, emoji=False, soft_wrap=True)


@contextmanager
def progress_shown() -> Iterator[Callable[[build.Progress], None]]:
    """A bar on stderr with rate and time left, only on a terminal and only when it takes more than a second."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    started = time.monotonic()
    bar = Progress(
        TextColumn("{task.description:<10}"),
        BarColumn(),
        MofNCompleteColumn(),
        TaskProgressColumn(show_speed=True),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    stage_started: dict[str, float] = {}
    tasks: dict[str, Any] = {}

    def show(step: build.Progress) -> None:
        begun = stage_started.setdefault(step.stage, time.monotonic())
        if time.monotonic() - started < SHOW_AFTER_SECONDS:
            return
        if not bar.live.is_started:
            bar.start()
        if step.stage not in tasks:
            tasks[step.stage] = bar.add_task(step.stage, total=step.total, rate="")
        rate = step.done / max(time.monotonic() - begun, 1e-6)
        bar.update(tasks[step.stage], completed=step.done, total=step.total, rate=f"{rate:.0f}/s")

    try:
        yield show
    finally:
        if bar.live.is_started:
            bar.stop()


def say_behind(count: int) -> None:
    """What to do where more has changed than a search indexes by itself."""
    if count:
        talk(f"The indices are {count} files behind the disk. Bring them level: oneiros reindex")
