"""dream as this person has set it up: command line and daemon start here, so that they decide on the same things."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from crawler.archive.store import SessionRecord
from crawler.reading.record import RULES, Reading
from dream.decisions.accept import Decisions
from dream.evidence import Evidence
from dream.judge.gate import is_supported
from dream.judge.reader import DreamReader, ReaderRun
from dream.report import Review, WeeklyReview, report_page
from dream.run import Bounds, Dream, DreamReport
from memory_server.errors import ContentError
from memory_server.escaping import plural
from memory_server.machine.files import replace_file
from memory_server.memory import Memory
from memory_server.redaction import Redactor
from memory_server.root.paths import MemoryRoot
from memory_server.root.places import require_memory
from memory_server.settings import PersonSettings
from oneiros.client import Client, DaemonLost
from oneiros.environment import Environment, now
from oneiros.ingest.readings import build_asking, build_unread, find_project, open_readings, see_when
from oneiros.ingest.settings import open_archive, over_when
from oneiros.opening import open_memory

LEVEL_SECONDS = 30.0  # how long a decision waits until it can be searched for


def open_decisions(environment: Environment) -> Decisions:
    """The decisions on the chosen memory; each is indexed at once."""
    root = require_memory(environment.choice.root)
    return build_decisions(root, environment.person, lambda: bring_level(environment), environment.home)


def build_decisions(
    root: MemoryRoot, person: PersonSettings, level: Callable[[], None] = lambda: None, home: Path | None = None
) -> Decisions:
    """The decisions on a memory, whose quotes are looked up in its archive and in the person's files."""
    evidence = Evidence(open_archive(root), home or Path.home())
    supports = partial(is_supported, evidence=evidence)
    return Decisions(root, person, now, is_true=evidence.resolve, supports=supports, level=level)


def dream_once(
    environment: Environment,
    decisions: Decisions,
    *,
    max_sessions: int | None = None,
    is_over: Callable[[], bool] = lambda: False,
    with_open: bool = False,
    project: str = "",
    on_session: Callable[[int, int], None] = lambda *_: None,
) -> DreamReport:
    """Looks at what was read since and proposes. `is_over`: the run ends then. `with_open`: sessions that are still
    going on, too; `project`: its sessions and statements alone.
    """
    has_ended = over_when(environment, decisions.root)

    def is_closed(record: SessionRecord) -> bool:
        return with_open or has_ended(record.session_id)

    dream = build_dream(environment, decisions, build_dream_reader(environment, decisions.root, project, is_over))
    return dream.run(Bounds(max_sessions, is_over, is_closed, project), on_session)


def make_deadline(seconds: float | None) -> Callable[[], bool]:
    """Tells whether so many seconds have passed since this call; never without a number."""
    end = math.inf if seconds is None else time.monotonic() + seconds
    return lambda: time.monotonic() >= end


def build_dream_reader(
    environment: Environment, root: MemoryRoot, project: str = "", is_over: Callable[[], bool] = lambda: False
) -> DreamReader | None:
    """The model that the person lets read, until when, and what it may see, of a project alone; None where rules are to
    read.
    """
    asking = build_asking(environment, root, time.sleep, is_over)
    if asking is None:
        return None
    is_open = see_when(open_archive(root), asking.person, environment.home)

    def may_see(whose: str, files: Sequence[str]) -> bool:
        return (not project or whose.casefold() == project.casefold()) and is_open(whose, files)

    return DreamReader(asking.model.ask, Redactor(asking.person.deny_words), may_see)


def build_dream(environment: Environment, decisions: Decisions, reader: DreamReader | None = None) -> Dream:
    """A dream over the readings of a memory, whose decisions these are. `reader`: a model, which files statements."""
    return Dream(
        decisions,
        open_archive(decisions.root),
        partial(find_reading, decisions.root),
        now=now,
        clock=time.monotonic,
        redactor=Redactor(environment.person.deny_words),
        home=environment.home,
        reader=reader,
    )


def tell_left(filed: ReaderRun, questions: ReaderRun | None = None) -> Iterator[str]:
    """What a reader was not asked for want of an answer, and that the next run asks; nothing where all was."""
    parts = [f"{plural(filed.left, 'statement')} left where first filed"] if filed.left else []
    if questions and questions.left:
        parts.append(f"{plural(questions.left, 'statement')} of topics left without questions")
    if parts:
        yield f"{', '.join(parts)}, until the next dream: {filed.stopped or (questions or filed).stopped}."


def find_reading(root: MemoryRoot, record: SessionRecord) -> Reading:
    """The reading of a session as it stands: the kept one, else one by rules, which is not kept."""
    archive, reading = open_archive(root), open_readings(root).load(record.session_id)
    if reading is not None and reading.mark == archive.hash_session(record.session_id):
        return reading
    try:
        return build_unread(archive, open_readings(root), record).plain
    except ContentError:  # a damaged archive: the dream names it when it looks at the session
        return Reading(record.session_id, "", RULES, 0, find_project(record))


def make_review(memory: Memory) -> Review:
    """The review of this week; nothing is written."""
    return WeeklyReview(memory, build_decisions(memory.root, memory.person), open_archive(memory.root), now).make()


def weekly_review(memory: Memory) -> tuple[Review, Path]:
    """The review of this week, written to its file in `reports/`."""
    review = make_review(memory)
    file = memory.root.path / "reports" / f"{review.week}.md"
    replace_file(file, report_page(review))
    return review, file


def bring_level(environment: Environment) -> None:
    """Indexes what was just written: the daemon does it where one runs, this process otherwise.

    A daemon in the middle of a run, such as the first, is not waited for: it looks at the disk again behind it.
    """
    client = Client.of(environment)
    try:
        is_idle = client.ask("GET", "/api/indexing")["stage"] == "idle"
        wait = LEVEL_SECONDS if is_idle else 0.0
        client.ask("POST", "/api/reindex", {"wait_seconds": wait}, seconds=2 * LEVEL_SECONDS)
    except DaemonLost:
        with open_memory(environment) as memory:
            memory.upkeep.refresh()
