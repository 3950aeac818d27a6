"""One dream: the sessions not read yet, what they say that the topics should know, and a proposal of it.

Resumable, since what is found is queued before a session counts as read; idempotent, since hunks are known by their
evidence; bounded by sessions, seconds and project. Extraction holds no lock: only queueing and offering do.
"""

import datetime as dt
import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from crawler.archive.store import Archive, SessionRecord
from crawler.reading.record import Reading, Request
from crawler.reading.repeats import group_habits
from crawler.reading.rules import trim_sentence
from dream.candidates import find_taken_back, make_candidates, make_lessons, select_quotes, settle
from dream.decisions.accept import Decisions
from dream.evidence import Evidence
from dream.judge.compare import (
    Match,
    compare,
    find_rival,
    is_worth_asking,
    make_correction,
    propose_addition,
    remove_statement,
    wrong_statement,
)
from dream.judge.gate import Gate, Refusal
from dream.judge.reader import DreamReader, ReaderRun, ask_where
from dream.judge.rejections import Rejections
from dream.progress import DreamProgress, make_mark, unread
from dream.proposals.offering import Offer
from dream.proposals.questions import write_questions
from dream.records import Candidate, DirectWords, Hunk, Kind, Update
from dream.statements.dates import absolute
from dream.topics import Topics, build_topics, read_topics
from memory_server.errors import ContentError, Problem
from memory_server.machine.clock import local_day
from memory_server.redaction import Redactor

logger = logging.getLogger(__name__)

BATCH = 40  # sessions between two savings: a kill repeats at most so many
Read = Callable[[SessionRecord], Reading]  # the reading of a session as it stands


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far one run goes."""

    max_sessions: int | None = None
    is_over: Callable[[], bool] = lambda: False  # no further session is begun then
    is_closed: Callable[[SessionRecord], bool] = lambda _: True  # sessions still going on are left for later
    project: str = ""  # empty: of all

    def holds(self, reading: Reading) -> bool:
        """Whether a session is of the project that is wanted."""
        return not self.project or reading.project.casefold() == self.project.casefold()


@dataclass(slots=True)
class DreamReport:
    """What a run did."""

    sessions: int = 0  # read
    left: int = 0  # of the project unread when it ended, those still going on included
    candidates: int = 0
    refused: dict[str, int] = field(default_factory=dict)  # by the gate, by reason
    unworthy: int = 0  # passed, but known or not worth a person's minute
    found: int = 0  # hunks that were not known before
    filed: ReaderRun = field(default_factory=ReaderRun)
    questions: ReaderRun = field(default_factory=ReaderRun)  # of statements in topics that had none
    offer: Offer = field(default_factory=lambda: Offer("", 0, 0, 0, 0, 0))
    problems: list[Problem] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Suggested:
    """What became of one candidate."""

    refusals: tuple[Refusal, ...]  # of the gate; empty where it passed
    update: Update | None = None  # also of one that is refused since a topic says it already
    hunk: Hunk | None = None  # None where the same was asked before
    rival: Match | None = None  # of what a person told: the statement that theirs may repeat or replace


class Dream:
    """One run over one memory root."""

    def __init__(
        self,
        decisions: Decisions,
        archive: Archive,
        read: Read,
        *,
        now: Callable[[], dt.datetime],
        clock: Callable[[], float],
        redactor: Redactor,
        home: Path | None = None,
        reader: DreamReader | None = None,
    ):
        self._decisions = decisions
        self._archive = archive
        self._read = read
        self._now = now
        self._clock = clock
        self._evidence = Evidence(archive, home)
        self._redactor = redactor
        self._reader = reader  # a model, which files what waits
        self._progress = DreamProgress(decisions.root)

    def run(self, bounds: Bounds, on_session: Callable[[int, int], None] = lambda *_: None) -> DreamReport:
        """Reads, queues and offers. `on_session` is told how many sessions are read and how many there are."""
        begun, report = self._clock(), DreamReport()
        known: dict[str, Reading] = {}

        def find_reader(record: SessionRecord) -> str:
            """Reads in the one look at the archive that is taken: a daemon may add to it meanwhile."""
            known[record.session_id] = self._read(record)
            return known[record.session_id].reader

        waiting = unread(self._archive.records(), self._progress.read(), find_reader)
        waiting = [record for record in waiting if bounds.holds(known[record.session_id])]
        closed = [record for record in waiting if bounds.is_closed(record)][: bounds.max_sessions]
        topics = read_topics(self._decisions.root)
        every = list(known.values())
        gone, habits = find_taken_back(every), group_habits(every)

        with self._gate(topics) as gate:
            updates: list[Update] = []
            done: dict[str, str] = {}
            for number, record in enumerate(closed, start=1):
                if bounds.is_over():
                    break
                reading = known[record.session_id]
                updates += self._find_updates(reading, gate, topics, report, gone, habits)
                done[record.session_id] = make_mark(record, reading.reader)
                report.sessions += 1
                if number % BATCH == 0:
                    self._save(updates, done, report)
                    updates, done = [], {}
                on_session(number, len(closed))
            if closed:
                updates += self._passing(make_lessons(filter(bounds.holds, every), gone), gate, topics, report)
            self._save(updates, done, report)
        report.left = len(waiting) - report.sessions
        report.filed = self.file_waiting()
        doubted = {one.path for one in self._decisions.find_unexplained()} if self._reader else ()
        report.questions = write_questions(self._decisions.root, self._reader, doubted)
        with self._decisions.hold_lock():
            today = local_day(self._now())
            self._decisions.queue.withdraw(select_quotes(every, gone), today)
            report.offer = self._decisions.queue.offer(today)
        self._note_run()
        report.seconds = self._clock() - begun
        logger.info("%d sessions read, %d hunks found, %.1f s", report.sessions, report.found, report.seconds)
        return report

    def suggest(self, candidate: Candidate, wrong: str = "") -> Suggested:
        """One candidate from outside, such as the assistant's: through the same gate, compared, and proposed at once.

        The day's room holds for it too: beyond it the hunk waits in the queue. `wrong`: the line that it is to replace.
        """
        judged = self._judge(candidate, wrong)
        update = judged.update
        if judged.refusals or update is None:
            return judged
        today = local_day(self._now())
        with self._decisions.hold_lock():
            added = self._decisions.queue.add([update], today)
            if added:
                self._decisions.queue.offer(today)
        found = self._decisions.store.hunk(added[0].id) if added else None
        return Suggested((), update, found)

    def hear(
        self, text: str, *, topic: str = "", wrong: str = "", project: str = "", is_beside: bool = False
    ) -> Suggested:
        """What a person tells directly, as a hunk that is kept nowhere: it is theirs to take up at once or never.

        `topic`: where they want it. `wrong`: the line that it is to replace. `is_beside`: it is only added, also where
        a topic says the same or otherwise. Raises UsageError where there is no such line.
        """
        words, is_lesson = DirectWords(" ".join(text.split()), self._now()), topic.removesuffix(".md") == "lessons"
        candidate = Candidate(
            trim_sentence(absolute(words.text, words.time)),
            Kind.CORRECTION if wrong else Kind.LESSON if is_lesson else Kind.FACT,
            quotes=(),
            confidence=1.0,
            why="said directly",
            extractor="person",
            topic="" if is_lesson else topic,
            project=project,
            given=(words,),
        )
        judged = self._judge(candidate, wrong, words, is_beside=is_beside)
        if not (wrong or is_beside):
            judged = replace(judged, rival=find_rival(candidate, read_topics(self._decisions.root)))
        if judged.refusals or judged.update is None:
            return judged
        return replace(judged, hunk=self._decisions.queue.make_hunk(judged.update, local_day(self._now())))

    def _judge(
        self, candidate: Candidate, wrong: str, direct: DirectWords | None = None, *, is_beside: bool = False
    ) -> Suggested:
        """What the gate and the comparison say of a candidate."""
        topics = read_topics(self._decisions.root)
        gone = wrong_statement(wrong, candidate.text, topics, candidate.project) if wrong else None
        others = build_topics({}) if is_beside else remove_statement(topics, gone) if gone else topics
        with self._gate(others, [direct] if direct else []) as gate:
            refusals = gate.check(candidate)
            if refusals:
                return Suggested(refusals, compare(candidate, others))
            candidate = gate.annotate(candidate)
        if gone:
            return Suggested((), make_correction(candidate, gone))
        return Suggested((), propose_addition(candidate, topics) if is_beside else compare(candidate, topics))

    def file_waiting(self) -> ReaderRun:
        """Has the reader say under which topics what waits stands, and word it; nothing where there is none."""
        if self._reader is None:
            return ReaderRun()
        topics = read_topics(self._decisions.root)
        with self._gate(topics) as gate:
            placed, filed = ask_where(self._reader, self._decisions.store.hunks(), topics, gate.reword)
        if placed:
            with self._decisions.hold_lock():
                self._decisions.queue.file(placed, local_day(self._now()))
        return filed

    @contextmanager
    def _gate(self, topics: Topics, direct: Sequence[DirectWords] = ()) -> Iterator[Gate]:
        with closing(Rejections(self._decisions.rejections())) as rejections:
            yield Gate(self._evidence, topics, rejections, self._redactor, direct)

    def _find_updates(
        self,
        reading: Reading,
        gate: Gate,
        topics: Topics,
        report: DreamReport,
        gone: Collection[tuple[str, str]],
        habits: Sequence[Sequence[Request]],
    ) -> list[Update]:
        """What one session brings; a session that cannot be read is a problem of the report."""
        try:
            session = self._evidence.session(reading.session_id)
        except ContentError as error:
            report.problems.append(Problem(f"sessions/archive/{reading.session_id}", 1, error.what, error.remedy))
            return []
        return self._passing(list(make_candidates(reading, session, gone=gone, habits=habits)), gate, topics, report)

    def _passing(
        self, candidates: Sequence[Candidate], gate: Gate, topics: Topics, report: DreamReport
    ) -> list[Update]:
        """The candidates that pass the gate and deserve a person's minute, compared with the topics."""
        found, refused = [], Counter(report.refused)
        for candidate in candidates:
            report.candidates += 1
            session = self._evidence.session(candidate.quotes[0].session_id)
            settled, refusals = settle(candidate, session, gate.check)
            refused.update(str(refusal.reason) for refusal in refusals)
            if refusals:
                continue
            update = compare(gate.annotate(settled), topics)
            if is_worth_asking(update):
                found.append(update)
            else:
                report.unworthy += 1
        report.refused = dict(refused)
        return found

    def _save(self, updates: Sequence[Update], done: Mapping[str, str], report: DreamReport) -> None:
        """Queues what was found, then notes the sessions as read."""
        with self._decisions.hold_lock():
            report.found += len(self._decisions.queue.add(updates, local_day(self._now())))
        state = self._progress.read()
        self._progress.save(replace(state, sessions={**state.sessions, **done}))

    def _note_run(self) -> None:
        state = self._progress.read()
        self._progress.save(replace(state, last_run=self._now()))
        self._progress.refresh_flag(self._archive, self._now())
