"""Has a model read the sessions that are over, where the person's settings ask for it.

Behind everything else, one call at a time: what rules read stands first and at once, so nobody waits for a model. What
it has read is not read again, also under a newer prompt; a session that grew is. The newest sessions come first, those
of one project together. Where the budget of the day, or a subscription's limit, is met it stops until the next day.
"""

import datetime as dt
import logging
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from itertools import groupby
from pathlib import Path
from typing import TypedDict

from filelock import FileLock, Timeout

from crawler.archive.store import Archive, SessionRecord
from crawler.compress.run import compress_closed
from crawler.facts import gather_facts
from crawler.model.client import LimitReached, PaidModel, Refused
from crawler.quotes import session_turns
from crawler.reading.model import OUTPUT_TOKENS, Cost, ModelReader, Unread, estimate_cost
from crawler.reading.record import FOLDER, Reading, Readings
from crawler.reading.repeats import count_failures, group_habits
from crawler.reading.rules import read_by_rules
from dream.topics import read_topics
from memory_server.errors import ContentError, NeedsRepair
from memory_server.layers.lessons import read_lessons
from memory_server.layers.sessions import folder_name, project_name
from memory_server.layers.topics import topic_heads
from memory_server.redaction import Redactor
from memory_server.root.paths import MemoryRoot
from memory_server.settings import PersonSettings
from oneiros.environment import Environment, now
from oneiros.ingest.settings import build_model_client, closed_when, open_archive, over_when, spending
from oneiros.worker import Worker

logger = logging.getLogger(__name__)

END_SECONDS = 1.0  # for the model that is being asked; its answer is dropped
OLLAMA_SECONDS = 5.0  # for a list of what it holds
MODEL_NAME = re.compile(r"[\w./:-]{1,120}")
LOCK = "reading.lock"  # below what is derived: one process at a time pays
SESSION_TOKENS, SESSIONS_A_CALL = 1_400, 6  # as measured on 61 sessions, instructions included; see docs/first-day.md
BATCH = 12  # sessions gathered at a time: a few calls
Pause = Callable[[float], None]  # waits a number of seconds


def open_readings(root: MemoryRoot) -> Readings:
    """The readings of a memory."""
    return Readings(root.path / "sessions" / FOLDER)


@dataclass(slots=True)
class ReadReport:
    """What a run of the model did."""

    read: int = 0
    left: int = 0
    tokens: int = 0
    stopped: str = ""  # why it ended before all were read


def waiting_records(
    archive: Archive, readings: Readings, person: PersonSettings, is_over: Callable[[str], bool], first: str = ""
) -> list[SessionRecord]:
    """The sessions that a model may read and has not, project by project: `first` ahead, then as they were last used;
    of each the newest first.
    """

    def is_unread(record: SessionRecord) -> bool:
        reading = readings.load(record.session_id)
        return reading is None or not reading.is_by_model or reading.mark != archive.hash_session(record.session_id)

    found = [
        one for one in archive.records() if may_be_read(one, person) and is_over(one.session_id) and is_unread(one)
    ]
    found.sort(key=lambda one: (one.ended, one.session_id), reverse=True)
    order: dict[str, int] = {}
    for record in found:
        order.setdefault(find_project(record), len(order))
    return sorted(found, key=lambda one: (find_project(one) != first, order[find_project(one)]))


def may_be_read(record: SessionRecord, person: PersonSettings) -> bool:
    """Whether the settings let a model read a session: its project is named if any is, and neither muted nor denied."""
    place = record.project or record.cwd
    return _may_read((record.project_name, project_name(place), folder_name(place), record.project, record.cwd), person)


def see_when(archive: Archive, person: PersonSettings, home: Path) -> Callable[[str, Sequence[str]], bool]:
    """Tells whether a model may see what is known of a project, and of which files it is: as of sessions, none of which
    may be closed to it.
    """
    closed = {find_project(record).casefold() for record in archive.records() if not may_be_read(record, person)}

    def may_see(project: str, files: Sequence[str]) -> bool:
        names = [name for file in files for name in (file, file.replace("~", str(home), 1))]
        return project.casefold() not in closed and _may_read((project, *names), person)

    return may_see


def _may_read(names: Sequence[str], person: PersonSettings) -> bool:
    folded = [name.casefold() for name in names]

    def is_named(patterns: Sequence[str]) -> bool:
        shapes = map(str.casefold, patterns)
        return any(fnmatch(name, shape) or name.startswith(f"{shape}/") for shape in shapes for name in folded)

    is_wanted = not person.reader_projects or is_named(person.reader_projects)
    return is_wanted and not is_named((*person.muted_projects, *person.ingest_deny))


def find_project(record: SessionRecord) -> str:
    return record.project_name


def list_projects(root: MemoryRoot) -> set[str]:
    """The projects of which a memory holds anything: a topic, a lesson or an archived session."""
    topics = {head.project for head in topic_heads(root)}
    return {*topics, *(one.project for one in read_lessons(root)), *map(find_project, open_archive(root).records())} - {
        ""
    }


def build_unread(archive: Archive, readings: Readings, record: SessionRecord) -> Unread:
    """A session for a reader. What nobody has read in this state is read by rules.

    Raises ContentError where the archive is damaged.
    """
    turns, mark = list(archive.turns(record.session_id)), archive.hash_session(record.session_id)
    session, facts = session_turns(record.session_id, find_project(record), turns), gather_facts(turns)
    plain = readings.load(record.session_id)
    if plain is None or plain.mark != mark or plain.is_by_model:
        plain = read_by_rules(session, turns, facts, mark)
    return Unread(session, facts, plain)


@dataclass(frozen=True, slots=True)
class Asking:
    """Whom to ask, and about which sessions."""

    model: PaidModel
    is_over: Callable[[str], bool]
    person: PersonSettings


def build_asking(
    environment: Environment, root: MemoryRoot, pause: Pause, is_time_over: Callable[[], bool] = lambda: False
) -> Asking | None:
    """What the settings say just then; None where rules are to read. Raises UsageError where they name no model."""
    environment = replace(environment)  # reads the settings anew
    if environment.person.reader == "rules":
        return None
    budget = spending(environment, root, now())
    model = PaidModel(build_model_client(environment, root), budget, pause=pause, is_over=is_time_over)
    return Asking(model, over_when(environment, root), environment.person)


@dataclass(slots=True)
class ReadingRun:
    """One run over the sessions of a memory that wait for a model."""

    root: MemoryRoot
    asking: Asking
    is_ended: Callable[[], bool] = lambda: False
    tell: Callable[[ReadReport], None] = lambda _: None  # after each session
    report: ReadReport = field(default_factory=ReadReport)
    _spent: dict[str, int] = field(default_factory=dict, init=False)  # tokens, by session

    def run(self, most: int | None = None, project: str = "", *, is_alone: bool = False) -> ReadReport:
        """Reads up to `most` sessions, those of `project` first, or alone; each is kept as soon as it is answered."""
        try:
            with FileLock(self.root.derived_folder / LOCK, timeout=0):
                return self._run(most, project, is_alone=is_alone)
        except Timeout:
            self.report.stopped = "another process has the model read just now"
            return self.report

    def _run(self, most: int | None, project: str, *, is_alone: bool) -> ReadReport:
        archive, readings, asking = open_archive(self.root), open_readings(self.root), self.asking
        every = waiting_records(archive, readings, asking.person, asking.is_over, project)
        every = [one for one in every if not is_alone or find_project(one).casefold() == project.casefold()]
        waiting, self.report.left = every[:most], len(every)
        reader = ModelReader(asking.model, Redactor(asking.person.deny_words))
        known = list(readings.every())
        habits, met = group_habits(known), count_failures(known)
        topics = topic_lines(self.root)
        for name, records in groupby(waiting, key=find_project):
            for batch in batches(list(records)):
                unread = [one for record in batch if (one := self._unread(archive, readings, record))]
                try:
                    for reading in reader.read(unread, habits, met, topics(name)):
                        if self.is_ended() or not archive.holds(reading.session_id):  # it was forgotten meanwhile
                            return self.report
                        readings.save(reading)
                        self._count(reading)
                except Refused as error:
                    self.report.stopped = str(error)
                    level = logging.INFO if isinstance(error, LimitReached) else logging.WARNING
                    logger.log(level, "%s; %d sessions wait for a reading", error, self.report.left)
                    return self.report
        return self.report

    def _unread(self, archive: Archive, readings: Readings, record: SessionRecord) -> Unread | None:
        with suppress(ContentError):  # a damaged archive, which every ingest names
            return build_unread(archive, readings, record)
        return None

    def _count(self, reading: Reading) -> None:
        """Counts a reading once, also where it comes again with statements that were mended."""
        self.report.read += reading.session_id not in self._spent
        self.report.left -= reading.session_id not in self._spent
        self._spent[reading.session_id] = reading.input_tokens + reading.output_tokens
        self.report.tokens = sum(self._spent.values())
        self.tell(self.report)


def batches(records: Sequence[SessionRecord]) -> Iterator[Sequence[SessionRecord]]:
    """The records a few at a time, so that no more sessions are held than some calls need."""
    for first in range(0, len(records), BATCH):
        yield records[first : first + BATCH]


def topic_lines(root: MemoryRoot) -> Callable[[str], str]:
    """What topics there are, a line each with its sections, for a reader: those of a project and the person's."""
    topics = read_topics(root)

    def lines(project: str) -> str:
        rows = []
        for topic in topics.limit_to_project(project).files:
            sections = dict.fromkeys(one.headings[-1] for one in topic.statements if one.headings)
            rows.append(f"{topic.path.removeprefix('topics/').removesuffix('.md')}: {', '.join(sections)}")
        return "\n".join(rows)

    return lines


def waiting_projects(environment: Environment, root: MemoryRoot) -> Counter[str]:
    """How many sessions a model may read and has not, by project."""
    waiting = waiting_records(open_archive(root), open_readings(root), environment.person, over_when(environment, root))
    return Counter(map(find_project, waiting))


def estimate_costs(sessions: int) -> Cost:
    """About what reading so many sessions takes, of which nothing is known but how many there are."""
    return Cost(sessions, -(-sessions // SESSIONS_A_CALL), SESSION_TOKENS * sessions, OUTPUT_TOKENS * sessions)


def model_costs(environment: Environment, root: MemoryRoot) -> Cost:
    """What it would take to have everything read that a model may read and has not, whether one is set or not."""
    archive, readings = open_archive(root), open_readings(root)
    records = waiting_records(archive, readings, environment.person, over_when(environment, root))
    unread = []
    for record in records:
        with suppress(ContentError):
            unread.append(build_unread(archive, readings, record))
    return estimate_cost(unread)


class ReadingStates(TypedDict):
    """By whom sessions were read, how many wait, what is spent and left today, as the status tells it."""

    reader: str
    by_model: int
    by_rules: int
    waiting: int
    tokens_today: int | None  # None where the ledger of what was paid is damaged
    tokens_a_day: int
    usd_today: float | None  # likewise
    stopped: str  # why no model is asked; empty where one may be


def reading_states(environment: Environment, root: MemoryRoot, moment: dt.datetime) -> ReadingStates:
    """How readings stand."""
    archive, readings, person = open_archive(root), open_readings(root), environment.person
    marks = {one.session_id: one for one in readings.every()}
    spent, stopped = None, ""
    try:
        spent = spending(environment, root, moment).spent_today()
    except NeedsRepair as error:
        stopped = str(error)
    by_model = sum(one.is_by_model for one in marks.values())
    waiting = (
        waiting_records(archive, readings, person, over_when(environment, root)) if person.reader != "rules" else []
    )
    return {
        "reader": person.reader,
        "by_model": by_model,
        "by_rules": len(marks) - by_model,
        "waiting": len(waiting),
        "tokens_today": spent.tokens if spent else None,
        "tokens_a_day": person.reader_tokens_day,
        "usd_today": round(spent.usd, 4) if spent else None,
        "stopped": spent.stopped if spent else stopped,
    }


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A way to a model that lies ready on this machine."""

    called: str  # as a person knows it
    receiver: str  # who is sent what is read
    settings: Mapping[str, str]  # that turn it on


def find_model(environment: Environment) -> FoundModel | None:
    """What could read here: `claude`, a model that `ollama` holds, or a service whose key and price settings name."""
    path, person = environment.variables.get("PATH"), environment.person
    if shutil.which("claude", path=path):
        return FoundModel("`claude`", "the service that `claude` uses", {"reader": "claude-cli"})
    if (ollama := shutil.which("ollama", path=path)) and (model := find_first_model(ollama)):
        settings = {"reader": "openai-url", "reader_url": "ollama", "reader_model": model}
        return FoundModel(f"`ollama` with {model}", "nobody: it runs on this machine", settings)
    is_priced = bool(person.reader_usd_in and person.reader_usd_out)  # else no limit of dollars would hold
    if is_priced and person.reader_model and environment.variables.get(person.reader_key_variable or "-"):
        reader, receiver = ("openai-url", person.reader_url) if person.reader_url else ("anthropic", "Anthropic's API")
        return FoundModel(f"the key in {person.reader_key_variable}", receiver, {"reader": reader})
    return None


def find_first_model(ollama: str) -> str:
    """The first model that `ollama list` names; empty where it holds none, or does not run."""
    try:
        done = subprocess.run([ollama, "list"], capture_output=True, check=True, timeout=OLLAMA_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return ""
    names = [line.split()[0] for line in done.stdout.decode("utf-8", "replace").splitlines()[1:] if line.strip()]
    return names[0] if names and MODEL_NAME.fullmatch(names[0]) else ""


def compress_again(environment: Environment, root: MemoryRoot) -> None:
    """Writes the digests of sessions that were read since: the next revision of each."""
    compress_closed(open_archive(root), root.sessions, open_readings(root), closed_when(environment, root, now()))


class ModelReadings:
    """A poke says that there may be sessions that only rules have read."""

    def __init__(
        self, root: MemoryRoot, asking: Callable[[Pause], Asking | None], on_read: Callable[[], None] = lambda: None
    ):
        """`on_read` is told when a run has read something: digests and typed lines are behind then."""
        self._root = root
        self._asking = asking
        self._on_read = on_read
        self.worker = Worker("model readings", self._round, end_seconds=END_SECONDS)

    def _round(self) -> None:
        self.run_once()

    def run_once(self) -> ReadReport:
        """Has the model read what it has not; nothing where rules are to read."""
        asking = self._asking(self.worker.pause)
        if asking is None:
            return ReadReport()
        report = ReadingRun(self._root, asking, is_ended=lambda: self.worker.is_ended).run()
        if report.read:
            self._on_read()
        return report
