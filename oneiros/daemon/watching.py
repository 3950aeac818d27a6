"""Sees what changes in a memory root and pokes the keeper.

Events are hints: what has changed is decided by comparing the disk with the ledger. It need not be exact, but it must
not miss a change for long; it looks at everything at the start, whenever a folder comes or goes, and every few minutes
in any case. Where the system hands out no more watches it looks every two seconds instead, and says so.
"""

import logging
import threading
from collections.abc import Callable
from pathlib import Path

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

from memory_server.errors import OneirosError
from memory_server.layers.topics import is_editors_file
from memory_server.memory import Memory

logger = logging.getLogger(__name__)

POLL_SECONDS = 2.0
LOOK_SECONDS = 120.0  # although events come
TELLING = frozenset({"created", "modified", "moved", "deleted", "closed"})  # not those of mere reading


class Watcher:
    """Watches one root until it is closed."""

    def __init__(
        self, memory: Memory, poke: Callable[[], object], make_observer: Callable[[], BaseObserver] = Observer
    ):
        self._memory = memory
        self._poke = poke
        self._make_observer = make_observer
        self._observer: BaseObserver | None = None
        self._watched: set[Path] = set()
        self._folders_changed = threading.Event()
        self._is_closed = threading.Event()
        self._thread = threading.Thread(target=self._work, name="watcher", daemon=True)
        self.manner = "starting"  # events, polling (and why)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._is_closed.set()
        self._folders_changed.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._stop_observer()

    def _work(self) -> None:
        self._watch()
        while not self._is_closed.is_set():
            by_events = self._observer is not None
            changed = self._folders_changed.wait(LOOK_SECONDS if by_events else POLL_SECONDS)
            if self._is_closed.is_set():
                return
            if changed:
                self._folders_changed.clear()
                self._is_closed.wait(0.05)  # a copied tree comes folder by folder
                self._watch()
            self._look()

    def _look(self) -> None:
        try:
            if not self._memory.changes().is_empty:
                self._poke()
        except (OneirosError, OSError) as error:
            logger.warning("looking for changes: %s", error)

    def _watch(self) -> None:
        """Watches every folder that holds sources; the derived one, which changes all the time, is left out."""
        if self.manner.startswith("polling"):
            return
        try:
            if self._observer is None:
                self._observer = self._make_observer()
                self._observer.start()
            handler = _Handler(self._memory.root.path, self._poke, self._folders_changed.set)
            root = self._memory.root
            wanted = {root.path} | {
                folder
                for place in (root.topics, root.sessions, root.episodes)
                for folder in (place.parent, place, *_folders_below(place))
                if folder.is_dir() and not folder.is_symlink()
            }
            for folder in sorted(wanted - self._watched):
                self._observer.schedule(handler, str(folder), recursive=False)
            gone = self._watched - wanted
            self._watched = wanted
            if gone:
                self._renew()
                return
            self.manner = "events"
        except OSError as error:
            self._stop_observer()
            self.manner = f"polling every {POLL_SECONDS:.0f} s ({error.strerror or error})"
            logger.warning("no file events: %s", self.manner)

    def _renew(self) -> None:
        """Starts over after a folder went: a folder of the same name that comes back is another one."""
        self._stop_observer()
        self._folders_changed.set()

    def _stop_observer(self) -> None:
        observer, self._observer = self._observer, None
        self._watched = set()
        if observer is not None and observer.is_alive():
            observer.stop()
            observer.join()


class _Handler(FileSystemEventHandler):
    def __init__(self, root: Path, poke: Callable[[], object], folders_changed: Callable[[], None]):
        self._root = root
        self._poke = poke
        self._folders_changed = folders_changed

    def on_any_event(self, event: FileSystemEvent) -> None:
        if event.event_type not in TELLING:
            return
        paths = [Path(str(path)) for path in (event.src_path, event.dest_path) if path]
        if event.is_directory:
            if event.event_type != "modified" and not all(self._is_hidden(path) for path in paths):
                self._folders_changed()
        elif any(path.suffix == ".md" and not is_editors_file(path.name) for path in paths):
            self._poke()

    def _is_hidden(self, path: Path) -> bool:
        try:
            return any(part.startswith(".") for part in path.relative_to(self._root).parts)
        except ValueError:
            return False


def _folders_below(place: Path) -> list[Path]:
    return [folder for folder in place.rglob("*") if folder.is_dir()] if place.is_dir() else []
