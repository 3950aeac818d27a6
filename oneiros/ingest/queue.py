"""Ingests what sessions said, behind the hooks: they only leave a note here and end.

A session that goes on is read up to where it is, and looked at again for a while, since the client writes down what a
hook is about only behind the hook. One that ended is compressed too, once its client's process is gone, to whose last
moment it writes. A session start sets off everything that ended without a hook. Notes of the same session are one, and
whatever is lost with this process is found again by the next session start.
"""

import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from crawler.archive.discovery import find_linked_folders
from crawler.ingest import ingest
from memory_server.errors import OneirosError
from memory_server.root.paths import MemoryRoot
from oneiros.environment import Environment, now
from oneiros.ingest.forgetting import make_forgetter
from oneiros.ingest.readings import open_readings
from oneiros.ingest.run import Wanted, ingest_all
from oneiros.ingest.settings import closed_when, crawl_roots, ingest_settings, this_machine
from oneiros.worker import Worker

logger = logging.getLogger(__name__)

LATER_SECONDS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)  # from one look at a session to the next
END_SECONDS = 1.0  # for what is under way; it bears a kill
RETRY_SECONDS = 5.0  # while another process holds the archive
MAX_WAITING = 1_000  # sessions; whatever is beyond is found by the next session start


@dataclass(frozen=True, slots=True)
class Note:
    """A session that has something new."""

    session_id: str
    transcript: str
    has_ended: bool = False
    client_pid: int = 0
    looks: int = 0  # at it so far


EVERYTHING = Note("", "")  # whatever is new in all folders
HERE = Wanted(places="here")  # a session that starts must not set off visits to other machines


class IngestQueue:
    """The sessions that were noted, in the order in which they are ingested while the worker runs."""

    def __init__(self, environment: Environment, root: MemoryRoot, on_ingested: Callable[[str, bool], None]):
        """`on_ingested` is called with a session that has something new and whether it has ended; for everything as
        `list_news` says.
        """
        self._environment = environment
        self._root = root
        self._on_ingested = on_ingested
        self._guard = threading.Lock()
        self._notes: dict[str, Note] = {}  # by session, in the order in which they are ingested
        self._later: dict[str, tuple[float, Note]] = {}  # with the monotonic time at which it is due
        self.worker = Worker("ingest", self._ingest_due, is_niced=True, end_seconds=END_SECONDS)

    def note(self, note: Note) -> None:
        """Notes a session; an end is not undone by a later note of the same session."""
        with self._guard:
            _, later = self._later.pop(note.session_id, (0.0, None))
            note = keep_end(self._notes.pop(note.session_id, later), note)
            if len(self._notes) < MAX_WAITING:
                self._notes[note.session_id] = note
        self.worker.poke()

    def note_all(self) -> None:
        """Whatever is new in all folders is to be ingested."""
        self.note(EVERYTHING)

    def _ingest_due(self) -> float | None:
        """Ingests what is noted or due; in how many seconds the next one is."""
        while not self.worker.is_ended and (note := self._next()):
            try:
                self._ingest(note)
            except OneirosError as error:
                logger.warning("a session could not be ingested: %s", error)
                self._put_off(note, RETRY_SECONDS)
            except Exception:  # one bad transcript must not keep the others waiting
                logger.exception("a session could not be ingested")
        with self._guard:
            due = min((due for due, _ in self._later.values()), default=None)
        return None if due is None else max(0.0, due - time.monotonic())

    def _next(self) -> Note | None:
        """What is to be ingested now."""
        with self._guard:
            if self._notes:
                return self._notes.pop(next(iter(self._notes)))
            due, later = min(self._later.values(), key=lambda pair: pair[0], default=(0.0, None))
            return self._later.pop(later.session_id)[1] if later and due <= time.monotonic() else None

    def _ingest(self, note: Note) -> None:
        if note == EVERYTHING:
            ingest_all(self._environment, self._root, self._on_ingested, wanted=HERE)
            return
        file = self._find_place(Path(note.transcript))
        if file is None:
            logger.warning("a hook named a transcript outside the client's folders; it was not read")
            return
        is_over = note.has_ended and (note.looks == len(LATER_SECONDS) or not _lives(note.client_pid))
        if self._ingest_file(file, is_over=is_over) or is_over:
            self._on_ingested(note.session_id, is_over)
        if not is_over and note.looks < len(LATER_SECONDS):
            self._put_off(replace(note, looks=note.looks + 1), LATER_SECONDS[note.looks])

    def _put_off(self, note: Note, seconds: float) -> None:
        """Looks at a session later, unless it was noted anew meanwhile and is looked at anyway."""
        with self._guard:
            if newer := self._notes.get(note.session_id):
                self._notes[note.session_id] = keep_end(note, newer)
            else:
                self._later[note.session_id] = (time.monotonic() + seconds, note)

    def _ingest_file(self, file: Path, *, is_over: bool) -> int:
        """Ingests one transcript with its side-chains, and compresses what is over; how much of it changed."""
        environment, root, moment = replace(self._environment), self._root, now()  # with the settings as they are now
        settings = ingest_settings(environment, root, this_machine(environment))
        report = ingest(
            [file, file.with_suffix("")],
            settings,
            root.sessions,
            open_readings(root) if is_over else None,
            closed_when(environment, root, moment),
            forget_marked=make_forgetter(root, environment.person, settings),
        )
        return report.ingest.entries + len(report.ingest.marked)

    def _find_place(self, file: Path) -> Path | None:
        """Where a transcript is read when all are; None outside of those: a hook must not have any file read."""
        real = file.resolve()
        for root in crawl_roots(replace(self._environment)) if file.suffix == ".jsonl" else ():
            if real.is_relative_to(folder := root.folder.resolve()):
                return root.folder / real.relative_to(folder)
            if any(map(real.is_relative_to, find_linked_folders(root.folder))):
                return real
        return None


def keep_end(before: Note | None, note: Note) -> Note:
    """A note that does not undo the end which an earlier one of the same session told."""
    if before is None or not before.has_ended or note.has_ended:
        return note
    return replace(note, has_ended=True, client_pid=before.client_pid)


def _lives(pid: int) -> bool:
    """Whether a process lives; 0 stands for one that is not known."""
    if not pid:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
