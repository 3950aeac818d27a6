"""Takes in what sessions said, behind the hooks: they only leave a note here and end.

One thread, niced. A session that goes on is read up to where it is, and looked at again for a while, since the client
writes down what a hook is about only behind the hook. One that ended is compressed too, once its client's process is
gone, to whose last moment it writes. A session start sets off everything that ended without a hook. Notes of the same
session are one, and whatever is lost with this process is found again by the next session start.
"""

import logging
import math
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from crawler.ingest import take_in
from memory_server.errors import OneirosError
from memory_server.root.paths import MemoryRoot
from oneiros.environment import Environment, now
from oneiros.ingest.chosen import (
    Wanted,
    closed_when,
    compressor_of,
    crawl_roots,
    ingest_settings,
    news_of,
    run_intake,
    spending,
    this_machine,
)
from oneiros.ingest.forgetting import forgetter_of

logger = logging.getLogger(__name__)

NICENESS = 10
LATER_SECONDS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)  # from one look at a session to the next
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


class TakingIn:
    """Runs until it is closed."""

    def __init__(self, environment: Environment, root: MemoryRoot, on_taken: Callable[[str, bool], None]):
        """`on_taken` is called with a session that has something new and whether it has ended; for everything as
        `intake.news_of` says.
        """
        self._environment = environment
        self._root = root
        self._on_taken = on_taken
        self._wake = threading.Condition()
        self._notes: dict[str, Note] = {}  # by session, in the order in which they are taken in
        self._later: dict[str, tuple[float, Note]] = {}  # with the monotonic time at which it is due
        self._is_closed = False
        self.is_busy = False
        self._thread = threading.Thread(target=self._work, name="taking-in", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Ends after what is under way, which may also be killed."""
        with self._wake:
            self._is_closed = True
            self._wake.notify_all()

    def note(self, note: Note) -> None:
        """Notes a session; an end is not undone by a later note of the same session."""
        with self._wake:
            _, later = self._later.pop(note.session_id, (0.0, None))
            note = with_end_of(self._notes.pop(note.session_id, later), note)
            if len(self._notes) < MAX_WAITING:
                self._notes[note.session_id] = note
            self._wake.notify_all()

    def note_all(self) -> None:
        """Whatever is new in all folders is to be taken in."""
        self.note(EVERYTHING)

    def _work(self) -> None:
        if hasattr(os, "sched_setaffinity"):  # where the priority of one thread can be lowered
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
        while (note := self._next()) is not None:
            try:
                self._take(note)
            except OneirosError as error:
                logger.warning("a session could not be taken in: %s", error)
                self._again(note)
            except Exception:  # the outermost loop of this thread: it must outlive one bad transcript
                logger.exception("a session could not be taken in")

    def _next(self) -> Note | None:
        """What is to be taken in, as soon as there is something; None where this was closed."""
        with self._wake:
            self.is_busy = False
            while not self._is_closed:
                due, later = min(self._later.values(), key=lambda pair: pair[0], default=(math.inf, EVERYTHING))
                left = due - time.monotonic()
                if self._notes:
                    self.is_busy = True
                    return self._notes.pop(next(iter(self._notes)))
                if left <= 0:
                    return self._later.pop(later.session_id)[1]
                self._wake.wait(left if self._later else None)
        return None

    def _take(self, note: Note) -> None:
        if note == EVERYTHING:
            outcome = run_intake(self._settled_now(), self._root, Wanted(), now())
            for told in news_of(outcome, now()):
                self._on_taken(*told)
            return
        file = Path(note.transcript)
        if not self._is_ours(file):
            logger.warning("a hook named a transcript outside the client's folders; it was not read")
            return
        is_over = note.has_ended and (note.looks == len(LATER_SECONDS) or not _lives(note.client_pid))
        if self._take_file(file, is_over=is_over) or is_over:
            self._on_taken(note.session_id, is_over)
        if not is_over:
            self._look_later(note)

    def _look_later(self, note: Note) -> None:
        """Puts a session off until its next look, if there is one."""
        if note.looks == len(LATER_SECONDS):
            return
        due = time.monotonic() + LATER_SECONDS[note.looks]
        with self._wake:
            if newer := self._notes.get(note.session_id):  # it is looked at anyway
                self._notes[note.session_id] = with_end_of(note, newer)
            else:
                self._later[note.session_id] = (due, replace(note, looks=note.looks + 1))

    def _take_file(self, file: Path, *, is_over: bool) -> int:
        """Takes one transcript in with its side-chains, and compresses what is over; how much of it changed."""
        environment, root, moment = self._settled_now(), self._root, now()
        settings = ingest_settings(environment, root, this_machine(environment))
        report = take_in(
            [file, file.with_suffix("")],
            settings,
            root.sessions,
            compressor_of(environment, root, spending(environment, root, moment)) if is_over else None,
            closed_when(environment, root, moment),
            forget_marked=forgetter_of(root, environment.person, settings),
        )
        return report.ingest.entries + len(report.ingest.marked)

    def _is_ours(self, file: Path) -> bool:
        """Whether a transcript lies where transcripts are read anyway: a hook must not have any file read."""
        return file.suffix == ".jsonl" and any(
            file.resolve().is_relative_to(root.folder.resolve()) for root in crawl_roots(self._settled_now())
        )

    def _settled_now(self) -> Environment:
        """The environment with the person's settings as they are now."""
        return replace(self._environment)

    def _again(self, note: Note) -> None:
        """Puts a note back after a while, together with what was noted of the same session meanwhile."""
        with self._wake:
            self._wake.wait_for(lambda: self._is_closed, timeout=RETRY_SECONDS)
            newer = self._notes.pop(note.session_id, note)
            self.note(with_end_of(note, newer))


def with_end_of(before: Note | None, note: Note) -> Note:
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
