"""Follows transcripts while they are written: says when there may be something new to read.

What is new is decided by the ingest, to which an unchanged tree costs hundredths of a second. So nothing is lost when
an event is: there is a look every minute in any case, which also finds the sessions that have become idle. Where the
system hands out no more watches, there is one every few seconds instead.
"""

import queue
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

from crawler.archive.discovery import SUFFIXES
from oneiros.file_events import FileEvents

POLL_SECONDS = 5.0
LOOK_SECONDS = 60.0  # although events come
REST_SECONDS = 1.0  # after an event: a client writes a reply in many pieces
TELLING = frozenset({"created", "modified", "moved", "closed"})


class Follower:
    """Waits for changes below folders. A context manager."""

    def __init__(self, folders: Sequence[Path], make_observer: Callable[[], BaseObserver] = Observer):
        self._folders = folders
        self._news: queue.SimpleQueue[None] = queue.SimpleQueue()  # an interruption leaves no lock of it behind
        self._is_closed = False
        self.events = FileEvents(_Changes(self._tell), make_observer, poll_seconds=POLL_SECONDS, recursive=True)

    def __enter__(self) -> "Follower":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends a wait under way, too."""
        self.end()
        self.events.close()

    def end(self) -> None:
        """Lets the wait under way, and every other, be the last. A handler of a signal may call it."""
        self._is_closed = True
        self._news.put(None)

    def wait(self) -> bool:
        """Returns when it is time for a look; false where the follower was closed."""
        if self.watch() and self._has_news(LOOK_SECONDS if self.events.are_coming else POLL_SECONDS):
            end = time.monotonic() + REST_SECONDS
            while not self._is_closed and (left := end - time.monotonic()) > 0:
                self._has_news(left)
        return not self._is_closed

    def watch(self) -> bool:
        """Watches every folder that is there; one that comes later at a later look. False where it was closed."""
        if not self._is_closed:
            self.events.watch(folder for folder in self._folders if folder.is_dir())
        return not self._is_closed

    def _has_news(self, seconds: float) -> bool:
        """Whether there was news within so many seconds."""
        try:
            self._news.get(timeout=seconds)
        except queue.Empty:
            return False
        return True

    def _tell(self) -> None:
        if self._news.empty():
            self._news.put(None)


@contextmanager
def ending_on_interrupt(follower: Follower) -> Iterator[None]:
    """Has the first ^C end the follower, and the next one raise.

    Raised wherever the program happens to be, a KeyboardInterrupt is lost in a callback of a library, and the following
    would go on. Call in the main thread.
    """

    def end(*_: object) -> None:
        signal.signal(signal.SIGINT, before)
        follower.end()

    before = signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class _Changes(FileSystemEventHandler):
    def __init__(self, changed: Callable[[], None]):
        self._changed = changed

    def on_any_event(self, event: FileSystemEvent) -> None:
        names = [str(path) for path in (event.src_path, event.dest_path) if path]
        is_ours = event.is_directory or any(name.endswith(SUFFIXES) for name in names)
        if event.event_type in TELLING and is_ours:
            self._changed()
