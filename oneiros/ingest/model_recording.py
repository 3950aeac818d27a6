"""Has a model write the recorder's lines of sessions that are over, where the person's settings ask for it.

One thread behind everything else: the lines made by rules stand first and at once, so nobody waits for a model. Where
it is not to be had the rest is left for the next time, and the lines made by rules stay. Money is asked for within the
budget of compression.
"""

import logging
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from crawler.archive.store import Archive
from crawler.compress.model.compressor import PaidModel, Refused
from crawler.compress.run import last_written
from crawler.facts import facts_of
from crawler.model_recorder import ModelRecorder
from memory_server.errors import OneirosError
from memory_server.index.typed_lines import TypedLines
from memory_server.layers.sessions import project_name
from memory_server.root.paths import MemoryRoot
from oneiros.environment import Environment, now
from oneiros.ingest.chosen import archive_folder, closed_when, model_client_of, spending
from oneiros.ingest.recording import is_by_rules, marked_by, typed_lines

logger = logging.getLogger(__name__)

Pause = Callable[[float], None]  # waits a number of seconds


@dataclass(frozen=True, slots=True)
class Asking:
    """Whom to ask, and about which sessions."""

    model: PaidModel
    is_over: Callable[[str], bool]


def asking_of(environment: Environment, root: MemoryRoot, pause: Pause) -> Asking | None:
    """What the settings say just then; None where rules are to do it. Raises UsageError where they name no model."""
    environment = replace(environment)  # reads the settings anew
    if environment.person.recorder != "model":
        return None
    budget = spending(environment, root, now())
    closed, archive = closed_when(environment, root, now()), Archive(archive_folder(root))
    model = PaidModel(model_client_of(environment, root), budget, pause=pause)
    return Asking(model, lambda session_id: closed.holds_for(session_id, last_written(archive, session_id)))


class ModelRecording:
    """Runs until it is closed."""

    def __init__(self, archive: Archive, digest: TypedLines, asking: Callable[[Pause], Asking | None]):
        self._archive = archive
        self._digest = digest
        self._asking = asking
        self._attempts: Counter[str] = Counter()
        self._wake, self._end = threading.Event(), threading.Event()
        self.is_busy = False
        self._thread = threading.Thread(target=self._work, name="model-recording", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Ends before the next session; what is asked just then is dropped."""
        self._end.set()
        self._wake.set()

    def poke(self) -> None:
        """There may be sessions that are over and recorded by rules alone."""
        self._wake.set()

    def run_once(self) -> int:
        """Records what is over and not done yet, the newest first; how many sessions that were."""
        asking = self._asking(self._pause)
        if asking is None:
            return 0
        recorder, done = ModelRecorder(asking.model), 0
        for session_id, mark in self._left(asking):
            if self._end.is_set():
                break
            self._attempts[session_id] += 1
            try:
                self._record(recorder, session_id, mark)
            except Refused as error:
                logger.warning("session %s: %s; its lines made by rules stay", session_id, error)
                break
            done += 1
        return done

    def _left(self, asking: Asking) -> list[tuple[str, str]]:
        """The sessions to be asked about with their marks, those that failed before behind the others."""
        left = [one for one in self._digest.marks().items() if is_by_rules(one[1]) and asking.is_over(one[0])]
        left.sort(key=lambda one: last_written(self._archive, one[0]), reverse=True)
        return sorted(left, key=lambda one: self._attempts[one[0]])

    def _record(self, recorder: ModelRecorder, session_id: str, mark: str) -> None:
        turns = list(self._archive.turns(session_id))
        project = project_name(self._archive.record(session_id).project)
        lines = recorder.lines(turns, facts_of(turns), project)
        if not self._end.is_set() and self._digest.marks().get(session_id) == mark:  # else it went on meanwhile
            typed = typed_lines(session_id, lines)
            self._digest.replace(session_id, marked_by(mark, recorder.name), project, typed)

    def _pause(self, seconds: float) -> None:
        self._end.wait(seconds)

    def _work(self) -> None:
        while not self._end.is_set():
            self.is_busy = False
            self._wake.wait()
            self._wake.clear()
            self.is_busy = True
            try:
                self.run_once()
            except OneirosError as error:
                logger.warning("no model records sessions: %s", error)
            except Exception:  # the outermost loop of this thread: it must outlive one bad session
                logger.exception("a session could not be recorded by a model")
