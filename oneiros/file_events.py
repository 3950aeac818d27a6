"""File events of folders, as hints that something has changed.

Where the system hands out no more watches, `manner` says so, and whoever looks for changes looks every few seconds.
"""

import logging
from collections.abc import Callable, Iterable
from pathlib import Path

from watchdog.events import FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

logger = logging.getLogger(__name__)

END_SECONDS = 5.0  # for the thread that waits for events; it ends with the process at the latest


class FileEvents:
    """Hands the events of the watched folders to a handler. Used by one thread, and closed when that has ended."""

    def __init__(
        self,
        handler: FileSystemEventHandler,
        make_observer: Callable[[], BaseObserver] = Observer,
        *,
        poll_seconds: float,
        recursive: bool = False,
    ):
        """`poll_seconds`: how often the owner looks where events do not come."""
        self._handler = handler
        self._make_observer = make_observer
        self._poll_seconds = poll_seconds
        self._recursive = recursive
        self._observer: BaseObserver | None = None
        self.watched: set[Path] = set()  # the folders whose events come
        self.manner = "events"  # or polling, and why

    @property
    def are_coming(self) -> bool:
        return self.manner == "events"

    def watch(self, folders: Iterable[Path]) -> None:
        """Watches these folders and no others. Where one has gone, all are watched anew: a folder of the same name
        that comes back is another one.
        """
        wanted = set(folders)
        if not self.are_coming:
            return
        if self.watched - wanted:
            self.close()
        try:
            if self._observer is None:
                self._observer = self._make_observer()
                self._observer.start()
            for folder in sorted(wanted - self.watched):
                self._observer.schedule(self._handler, str(folder), recursive=self._recursive)
                self.watched.add(folder)
        except OSError as error:
            self.close()
            self.manner = f"polling every {self._poll_seconds:.0f} s ({error.strerror or error})"
            logger.warning("no file events: %s", self.manner)

    def close(self) -> None:
        observer, self._observer = self._observer, None
        self.watched = set()
        if observer is not None and observer.is_alive():
            observer.stop()
            observer.join(END_SECONDS)
