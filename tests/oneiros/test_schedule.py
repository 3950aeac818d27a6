import datetime as dt
import json
import threading
from collections.abc import Callable
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from memory_server.errors import NeedsRepair
from oneiros.daemon.schedule import At, Every, Job, Schedule, When, read_states
from tests.system.house import wait_until

BERLIN = ZoneInfo("Europe/Berlin")
FOUR = At(dt.time(4), zone=BERLIN)


class Clock:
    """A clock that a test sets."""

    def __init__(self, text: str):
        self.set(text)

    def set(self, text: str) -> None:
        self.now = dt.datetime.fromisoformat(text).replace(tzinfo=BERLIN)

    def __call__(self) -> dt.datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock("2026-03-02 12:00")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "schedule.json"


def job(name: str, when: When | None, work: Callable[[], str] = lambda: "done") -> Job:
    return Job(name, lambda: when, lambda _: work())


def test_a_job_runs_once_when_its_time_has_come(clock: Clock, file: Path) -> None:
    schedule = Schedule(file, [job("ingest", FOUR)], clock)
    ran = []

    for moment in ("2026-03-02 12:00", "2026-03-03 03:59", "2026-03-03 04:00", "2026-03-03 04:01", "2026-03-04 03:59"):
        clock.set(moment)
        ran += [(moment, name) for name in schedule.run_due()]

    assert ran == [("2026-03-03 04:00", "ingest")]


def test_what_was_missed_while_no_daemon_ran_is_caught_up_once(clock: Clock, file: Path) -> None:
    Schedule(file, [job("ingest", FOUR), job("scan", Every(10))], clock).run_due()
    clock.set("2026-03-09 12:00")

    schedule = Schedule(file, [job("ingest", FOUR), job("scan", Every(10))], clock)

    assert [schedule.run_due(), schedule.run_due()] == [["ingest", "scan"], []]


def test_a_job_that_was_never_seen_before_has_missed_nothing(clock: Clock, file: Path) -> None:
    assert Schedule(file, [job("ingest", FOUR), job("scan", Every(10))], clock).run_due() == []


def test_a_clock_that_was_set_back_makes_no_job_wait_for_it(clock: Clock, file: Path) -> None:
    schedule = Schedule(file, [job("ingest", FOUR), job("scan", Every(10))], clock)
    schedule.run_due()
    clock.set("2031-01-01 12:00")
    schedule.run_due()

    clock.set("2026-03-02 12:00")
    at_once = schedule.run_due()
    clock.set("2026-03-03 04:00")

    assert (at_once, schedule.run_due()) == ([], ["ingest", "scan"])


@pytest.mark.parametrize(
    ("rule", "moment", "due"),
    [
        (FOUR, "2026-03-02T03:00+01:00", "2026-03-02T04:00+01:00"),
        (FOUR, "2026-03-02T04:00+01:00", "2026-03-03T04:00+01:00"),
        (FOUR, "2026-03-28T12:00+01:00", "2026-03-29T04:00+02:00"),  # the clock went forward in between
        (At(dt.time(2, 30), zone=BERLIN), "2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"),  # 02:30 comes twice
        (At(dt.time(4), weekday=0, zone=BERLIN), "2026-03-02T05:00+01:00", "2026-03-09T04:00+02:00"),
        (At(dt.time(4), weekday=0, zone=BERLIN), "2026-03-01T05:00+01:00", "2026-03-02T04:00+01:00"),
        (Every(10), "2026-03-02T03:00+01:00", "2026-03-02T03:10+01:00"),
    ],
)
def test_a_rule_follows_the_clock_on_the_wall(rule: When, moment: str, due: str) -> None:
    found = rule.follows(dt.datetime.fromisoformat(moment))

    assert found.astimezone(BERLIN).replace(tzinfo=None) == dt.datetime.fromisoformat(due).replace(tzinfo=None)


def test_a_failure_is_told_and_tried_again_later_and_stops_no_other_job(clock: Clock, file: Path) -> None:
    answers: list[Exception | str] = [NeedsRepair("the disk is full", remedy="Make room"), OSError("gone"), "3 entries"]

    def work() -> str:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    schedule = Schedule(file, [job("ingest", FOUR, work), job("scan", Every(10))], clock)
    schedule.run_due()
    ran, errors = [], []
    for moment in ("2026-03-03 04:00", "2026-03-03 04:14", "2026-03-03 04:15", "2026-03-03 04:30"):
        clock.set(moment)
        ran.append(schedule.run_due())
        errors.append(read_states(file)[0].error)

    assert ran == [["ingest", "scan"], ["scan"], ["ingest"], ["ingest", "scan"]]
    assert errors == ["the disk is full. Make room."] * 2 + ["it failed unexpectedly: OSError('gone')", ""]
    assert read_states(file)[0].said == "3 entries"


def test_a_job_that_is_switched_off_does_not_run_and_has_no_next_time(clock: Clock, file: Path) -> None:
    rules: list[When | None] = [Every(10)]
    schedule = Schedule(file, [Job("scan", lambda: rules[0], lambda _: "done")], clock)
    schedule.run_due()
    before = read_states(file)[0].next

    rules[0] = None
    clock.set("2026-03-02 13:00")

    assert schedule.run_due() == []
    assert (before, read_states(file)[0].next) == ("2026-03-02T11:10:00+00:00", "")


def test_a_job_that_no_longer_exists_is_forgotten(clock: Clock, file: Path) -> None:
    Schedule(file, [job("old", FOUR)], clock).run_due()

    Schedule(file, [job("new", FOUR)], clock).run_due()

    assert [state.name for state in read_states(file)] == ["new"]


@pytest.mark.parametrize("text", ["", "{", "[1]", "{}", '[{"name": 3, "done": null, "since": "soon"}]'])
def test_a_damaged_file_of_states_is_a_new_beginning(clock: Clock, file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")

    Schedule(file, [job("scan", Every(10))], clock).run_due()

    assert json.loads(file.read_text(encoding="utf-8"))[-1]["next"] == "2026-03-02T11:10:00+00:00"


def test_closing_ends_the_job_under_way_which_is_due_again(clock: Clock, file: Path) -> None:
    started = threading.Event()

    def work(check: Callable[[], None]) -> str:
        started.set()
        while True:
            check()

    Schedule(file, [job("ingest", FOUR)], clock).run_due()
    clock.set("2026-03-03 04:00")
    schedule = Schedule(file, [Job("ingest", lambda: FOUR, work)], clock)
    schedule.worker.start()
    wait_until(started.is_set, 60)

    schedule.worker.close()

    wait_until(lambda: not schedule.worker.is_busy, 60)
    assert Schedule(file, [job("ingest", FOUR)], clock).run_due() == ["ingest"]
