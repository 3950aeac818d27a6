"""Has a model write the recorder's lines after each turn of a session, where the person's settings ask for it.

Behind everything else, one request at a time: the lines made by rules stand first and at once, so nobody waits for a
model. Where it is not to be had the rest is left for the next time, and the lines made by rules stay. A session that it
was never asked about is one request. Money is asked for within the budget of compression.
"""

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from crawler.archive.store import Archive
from crawler.compress.model.compressor import PaidModel, Refused
from crawler.compress.run import last_written
from crawler.model_recorder import ModelRecorder, unasked
from crawler.transcripts.turns import Role
from memory_server.index.typed_lines import TypedLines
from memory_server.root.paths import MemoryRoot
from oneiros.environment import Environment, now
from oneiros.ingest.settings import model_client_of, over_when, spending
from oneiros.ingest.typed_lines import RecordMark, record_lines, turns_of
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
    """A poke says that there may be turns that are recorded by rules alone."""

    def __init__(self, archive: Archive, digest: TypedLines, asking: Callable[[Pause], Asking | None]):
        self._archive = archive
        self._digest = digest
        self._asking = asking
        self._attempts: Counter[str] = Counter()
        self.worker = Worker("model lines", self._round, end_seconds=END_SECONDS)

    def _round(self) -> None:
        self.run_once()

    def run_once(self) -> int:
        """Records what no model was asked about yet, the newest session first; about how many one was asked.

        A session that goes on is asked about once its last word is the assistant's.
        """
        asking = self._asking(self.worker.pause)
        if asking is None:
            return 0
        recorder, done, tried = ModelRecorder(asking.model), 0, set[tuple[str, str]]()
        while not self.worker.is_ended and (one := next((one for one in self._left() if one not in tried), None)):
            tried.add(one)
            session_id, mark = one
            try:
                done += self._record(recorder, session_id, RecordMark.of(mark), is_over=asking.is_over(session_id))
            except Refused as error:
                self._attempts[session_id] += 1
                logger.warning("session %s: %s; its lines made by rules stay", session_id, error)
                break
        return done

    def _left(self) -> list[tuple[str, str]]:
        """The sessions to be asked about with their marks, those that failed before behind the others.

        Looked up before each request, so that a turn which just ended need not wait for what is years old.
        """
        left = [one for one in self._digest.marks().items() if not RecordMark.of(one[1]).writer]
        left.sort(key=lambda one: last_written(self._archive, one[0]), reverse=True)
        return sorted(left, key=lambda one: self._attempts[one[0]])

    def _record(self, recorder: ModelRecorder, session_id: str, mark: RecordMark, *, is_over: bool) -> bool:
        """Asks about what is new in a session, and records it; whether it was done."""
        turns, project = turns_of(self._archive, session_id)
        told = unasked(turns, mark.asked)
        if told and not is_over and told[-1].role is not Role.ASSISTANT:
            return False
        written = recorder.written(told, project) if told else []
        now_there = self._digest.marks().get(session_id)
        if self.worker.is_ended or now_there is None:  # it was forgotten meanwhile
            return False
        asked = told[-1].entries[-1] if told else mark.asked
        state = RecordMark.of(now_there).state
        writer = recorder.name if state == mark.state else ""  # else it went on meanwhile
        record_lines(self._archive, self._digest, session_id, RecordMark(state, writer, asked), written)
        return True
