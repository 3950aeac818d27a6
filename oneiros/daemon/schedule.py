"""The daemon's jobs by the clock: what runs at a time of day, and what runs every so many minutes.

A job runs once when its time has come. What was missed, since no daemon ran, the machine slept or its clock was set
forward, is caught up once, however many times it was missed; a clock set back makes no job wait for it. What each job
did last stands in one file of the derived folder, so that `oneiros status` can say it without a daemon. Jobs run one
after the other, behind everything else. What they do is the caller's: `jobs.py` names them.
"""

import datetime as dt
import logging
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from memory_server.errors import OneirosError
from memory_server.machine.files import read_json, replace_file
from memory_server.root.paths import MemoryRoot
from oneiros.worker import Worker

logger = logging.getLogger(__name__)

LOOK_SECONDS = 20.0  # between two looks at the clock; waiting for a moment itself would not notice a jump
RETRY = dt.timedelta(minutes=15)  # after a job failed


class When(Protocol):
    """A rule that says when a job is due."""

    def follows(self, moment: dt.datetime) -> dt.datetime:
        """The first time the job is due after a moment. All times are aware."""


@dataclass(frozen=True, slots=True)
class At:
    """At a time of day by the wall clock, every day or on one day of the week."""

    time: dt.time
    weekday: int | None = None  # 0: Monday
    zone: dt.tzinfo | None = None  # None: the machine's

    def follows(self, moment: dt.datetime) -> dt.datetime:
        day = moment.astimezone(self.zone).date()
        while True:
            due = self._make_moment(day)
            if due > moment and self.weekday in (None, day.weekday()):
                return due
            day += dt.timedelta(days=1)

    def _make_moment(self, day: dt.date) -> dt.datetime:
        """The moment on a day; each day has its own offset from UTC."""
        wall = dt.datetime.combine(day, self.time)
        return wall.replace(tzinfo=self.zone) if self.zone else wall.astimezone()


@dataclass(frozen=True, slots=True)
class Every:
    """So long after the last time."""

    minutes: float

    def follows(self, moment: dt.datetime) -> dt.datetime:
        return moment + dt.timedelta(minutes=self.minutes)


@dataclass(frozen=True, slots=True)
class Job:
    """Something to be done by the clock.

    `when` is asked at each look, so that a changed setting counts at once; None switches the job off. `work` returns
    one sentence on what it did; it is handed a function that raises Closed where the daemon ends, and calls it now and
    then.
    """

    name: str
    when: Callable[[], When | None]
    work: Callable[[Callable[[], None]], str]


class Closed(Exception):
    """The schedule was closed while a job ran; the job is due again."""


@dataclass(slots=True)
class JobState:
    """What is known of one job. Times are ISO 8601 in UTC."""

    name: str
    since: str = ""  # when the job was first seen; nothing that was due before was missed
    done: str = ""  # when it last succeeded
    said: str = ""  # what it then did
    tried: str = ""  # when it last failed; empty after a success
    error: str = ""
    next: str = ""  # when it is due; empty where it is switched off


class Schedule:
    """Runs its jobs while its worker does. An idle daemon waits for the job under way; else jobs keep none alive."""

    def __init__(self, file: Path, jobs: Sequence[Job], now: Callable[[], dt.datetime]):
        self._file = file
        self._jobs = jobs
        self._now = now
        self._states = {state.name: state for state in read_states(file)}
        self.worker = Worker("schedule", self._look, is_niced=True, retry_seconds=LOOK_SECONDS)

    def run_due(self) -> list[str]:
        """Runs every job whose time has come, once; returns their names."""
        before = {name: asdict(state) for name, state in self._states.items()}
        ran = [job.name for job in self._jobs if not self.worker.is_ended and self._run_if_due(job)]
        self._states = {job.name: self._states[job.name] for job in self._jobs if job.name in self._states}
        if {name: asdict(state) for name, state in self._states.items()} != before:
            self._save()
        return ran

    def _run_if_due(self, job: Job) -> bool:
        now = self._now()
        state = self._states.setdefault(job.name, JobState(job.name, since=format_moment(now)))
        bring_to_present(state, now)
        when = job.when()
        due = find_due(when, state) if when else None
        is_due = due is not None and due <= now
        if is_due:
            self._run(job, state)
            when = job.when()
            due = find_due(when, state) if when else None
        state.next = format_moment(due) if due else ""
        return is_due

    def _run(self, job: Job, state: JobState) -> None:
        try:
            state.said = job.work(self._check)
            state.done, state.tried, state.error = format_moment(self._now()), "", ""
            logger.info("%s: %s", job.name, state.said)
        except Closed:
            logger.info("%s: the daemon ends; it is due again at the next start", job.name)
        except Exception as error:  # the outermost loop of a job: the others must run all the same
            state.tried = format_moment(self._now())
            state.error = str(error) if isinstance(error, OneirosError) else f"it failed unexpectedly: {error!r}"
            logger.error("%s: %s", job.name, state.error, exc_info=not isinstance(error, OneirosError))
        self._save()

    def _check(self) -> None:
        if self.worker.is_ended:
            raise Closed

    def _save(self) -> None:
        """Notes the states; a full disk must not end the schedule."""
        try:
            written = msgspec.json.format(msgspec.json.encode(list(self._states.values())), indent=1)
            replace_file(self._file, written.decode() + "\n")
        except OSError as error:
            logger.warning("what the schedule did cannot be noted: %s", error)

    def _look(self) -> float:
        self.run_due()
        return LOOK_SECONDS


def bring_to_present(state: JobState, now: dt.datetime) -> None:
    """Brings times of the future, which only a clock that was set back leaves, to the present; damaged ones too."""
    for name in ("since", "done", "tried"):
        text = getattr(state, name)
        moment = read_moment(text)
        if (text or name == "since") and (moment is None or moment > now):
            setattr(state, name, format_moment(now))


def find_due(when: When, state: JobState) -> dt.datetime:
    """When a job is next due; in the past where it was missed."""
    since, done, tried = read_moment(state.since), read_moment(state.done), read_moment(state.tried)
    assert since is not None  # as `bring_to_present` leaves it
    due = when.follows(max(since, done) if done else since)
    return max(due, tried + RETRY) if tried else due


def schedule_file(root: MemoryRoot) -> Path:
    """Where the states of a memory's jobs stand."""
    return root.derived_folder / "schedule.json"


def read_states(file: Path) -> list[JobState]:
    """What the jobs of a memory did last; nothing where that is not known."""
    return read_json(file, list[JobState], [])


def format_moment(moment: dt.datetime) -> str:
    return moment.astimezone(dt.UTC).isoformat(timespec="seconds")


def read_moment(text: str) -> dt.datetime | None:
    """A moment as it was written; None where it is none."""
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else None
