"""Sees what changes in a memory root and pokes the indexer.

Events are hints: what has changed is decided by comparing the disk with the ledger. It need not be exact, but it must
not miss a change for long; it looks at everything at the start, whenever a folder comes or goes, and every few minutes
in any case. Where the system hands out no more watches it looks every two seconds instead, and says so.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

from memory_server.layers.topics import is_editors_file
from memory_server.memory import Memory
from memory_server.root.paths import MemoryRoot
from oneiros.file_events import FileEvents
from oneiros.worker import Worker

POLL_SECONDS = 2.0
LOOK_SECONDS = 120.0  # although events come
COPY_SECONDS = 0.05  # a copied tree comes folder by folder
TELLING = frozenset({"created", "modified", "moved", "deleted", "closed"})  # not those of mere reading


class Watcher:
    """Watches one root while its worker runs."""

    def __init__(
        self, memory: Memory, poke: Callable[[], object], make_observer: Callable[[], BaseObserver] = Observer
    ):
        self._memory = memory
        self._poke = poke
        self.worker = Worker("watcher", self._look, retry_seconds=POLL_SECONDS)
        handler = _Handler(memory.root.path, poke, self.worker.poke)
        self._events = FileEvents(handler, make_observer, poll_seconds=POLL_SECONDS)
        self._has_looked = False

    @property
    def manner(self) -> str:
        """How changes are seen: starting, events, or polling and why."""
        return self._events.manner if self._has_looked else "starting"

    def close(self) -> None:
        self.worker.close()
        self._events.close()

    def _look(self) -> float:
        self.worker.pause(COPY_SECONDS)
        self._events.watch(_list_folders(self._memory.root))
        if self._has_looked and not self._memory.upkeep.changes().is_empty:  # the first run looks by itself
            self._poke()
        self._has_looked = True
        return LOOK_SECONDS if self._events.are_coming else POLL_SECONDS


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
        elif not all(is_editors_file(path.name) for path in paths):
            self._poke()

    def _is_hidden(self, path: Path) -> bool:
        try:
            return any(part.startswith(".") for part in path.relative_to(self._root).parts)
        except ValueError:
            return False


def _list_folders(root: MemoryRoot) -> Iterator[Path]:
    """Every folder that holds sources, and git's notes of commits; the derived one, which changes all the time, not."""
    yield root.path
    if (commits := root.path / ".git" / "logs").is_dir():
        yield commits
    for place in (root.topics, root.sessions, root.episodes):
        below = place.rglob("*") if place.is_dir() else ()
        yield from (one for one in (place.parent, place, *below) if one.is_dir() and not one.is_symlink())
