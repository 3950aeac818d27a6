"""The log of use: once a question and day, of no words, forgotten with its source."""

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_server.document import LineRange
from memory_server.lifecycle.use import DRILLED, Access, UseLog

DAY = dt.date(2026, 3, 1)
TURNS = "sessions/archive/9e4910ab-0000-4000-8000-000000000000"
FILE = "sessions/compressed/2026/2026-02-01-relay-9e4910ab.md"


class Clock:
    today = DAY

    def __call__(self) -> dt.date:
        return self.today


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def log(tmp_path: Path, clock: Clock) -> Iterator[UseLog]:
    made = UseLog(tmp_path / "state.db", clock)
    yield made
    made.close()


def test_looking_into_a_log_that_was_never_written_makes_no_file(log: UseLog, tmp_path: Path) -> None:
    log.forget(["topics/a.md"])

    assert (log.uses(), log.since, log.read_opened_lines(), log.paths()) == ({}, None, {}, set())
    assert list(tmp_path.iterdir()) == []


def test_a_question_counts_once_a_day(log: UseLog, clock: Clock) -> None:
    for question in ("port", "port", "relay"):
        log.count_found(question, ["topics/a.md", "topics/a.md"])
    clock.today += dt.timedelta(days=1)
    log.count_found("port", ["topics/a.md"])

    assert (log.uses()["topics/a.md"].found, log.uses()["topics/a.md"].last) == (3, clock.today)
    assert log.since == DAY


def test_reading_on_after_one_question_is_one_use_of_all_lines_read(log: UseLog) -> None:
    log.count_found("port", [FILE])
    for first in (1, 11, 40):
        log.count_access(FILE, LineRange(first, first + 9))

    use = log.uses()["9e4910ab"]
    assert (use.opened, use.accesses) == (1, (Access(DAY, 1),))
    assert log.read_opened_lines() == {FILE: [LineRange(1, 20), LineRange(40, 49)]}


def test_a_file_and_the_turns_of_a_session_are_one_source(log: UseLog) -> None:
    log.count_found("port", [FILE, TURNS])
    log.count_access(FILE, LineRange(1, 9))
    log.count_access(TURNS, LineRange(1, 20), DRILLED)

    use = log.uses(["9e4910ab"])["9e4910ab"]
    assert (use.found, use.opened, use.drilled, sum(one.times for one in use.accesses)) == (1, 1, 1, 2)


def test_what_is_forgotten_leaves_no_byte(log: UseLog, tmp_path: Path) -> None:
    log.count_found("port", [FILE, "topics/a.md"])
    log.count_access(FILE, LineRange(1, 9))

    log.forget([FILE])

    assert set(log.uses()) == {"topics/a.md"}
    assert not any(b"9e4910ab" in file.read_bytes() for file in tmp_path.iterdir())
