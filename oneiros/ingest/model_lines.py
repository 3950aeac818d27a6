"""Has a model write the recorder's lines of sessions that are over, where the person's settings ask for it.

Behind everything else: the lines made by rules stand first and at once, so nobody waits for a model. Where
it is not to be had the rest is left for the next time, and the lines made by rules stay. Money is asked for within the
budget of compression.
"""

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from crawler.archive.store import Archive
from crawler.compress.model.compressor import PaidModel, Refused
from crawler.compress.run import last_written
from crawler.facts import facts_of
from crawler.model_recorder import ModelRecorder
from memory_server.index.typed_lines import TypedLines
from memory_server.root.paths import MemoryRoot
from oneiros.environment import Environment, now
from oneiros.ingest.settings import model_client_of, over_when, spending
from oneiros.ingest.typed_lines import is_by_rules, marked_by, turns_of, typed_lines
from oneiros.worker import Worker

logger = logging.getLogger(__name__)

END_SECONDS = 1.0  # for the model that is being asked; its answer is dropped

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
    return Asking(PaidModel(model_client_of(environment, root), budget, pause=pause), over_when(environment, root))


class ModelLines:
    """A poke says that there may be sessions that are over and recorded by rules alone."""

    def __init__(self, archive: Archive, digest: TypedLines, asking: Callable[[Pause], Asking | None]):
        self._archive = archive
        self._digest = digest
        self._asking = asking
        self._attempts: Counter[str] = Counter()
        self.worker = Worker("model lines", self._round, end_seconds=END_SECONDS)

    def _round(self) -> None:
        self.run_once()

    def run_once(self) -> int:
        """Records what is over and not done yet, the newest first; how many sessions that were."""
        asking = self._asking(self.worker.pause)
        if asking is None:
            return 0
        recorder, done = ModelRecorder(asking.model), 0
        for session_id, mark in self._left(asking):
            if self.worker.is_ended:
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
        turns, project = turns_of(self._archive, session_id)
        lines = recorder.lines(turns, facts_of(turns), project)
        if not self.worker.is_ended and self._digest.marks().get(session_id) == mark:  # else it went on meanwhile
            typed = typed_lines(session_id, lines)
            self._digest.replace(session_id, marked_by(mark, recorder.name), project, typed)
