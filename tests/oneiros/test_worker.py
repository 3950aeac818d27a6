"""The worker by itself, with real threads: what a poke, an error and an end do to its rounds."""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from memory_server.errors import NeedsRepair
from oneiros.worker import Worker
from tests.system.house import wait_until


class Rounds:
    """Work that counts its rounds, each of which may be held."""

    def __init__(self, seconds: float | None = None):
        self.count = 0
        self.seconds = seconds
        self.errors: list[Exception] = []
        self.may_go = threading.Event()
        self.may_go.set()

    def __call__(self) -> float | None:
        self.count += 1
        assert self.may_go.wait(60)
        if self.errors:
            raise self.errors.pop(0)
        return self.seconds


@contextmanager
def working(rounds: Rounds, retry_seconds: float | None = None, end_seconds: float = 60.0) -> Iterator[Worker]:
    worker = Worker("test", rounds, retry_seconds=retry_seconds, end_seconds=end_seconds)
    worker.start()
    try:
        yield worker
    finally:
        rounds.may_go.set()
        worker.close()


def test_a_start_is_a_round_and_many_pokes_during_it_are_one_more() -> None:
    rounds = Rounds()
    rounds.may_go.clear()
    with working(rounds) as worker:
        wait_until(lambda: rounds.count == 1)
        for _ in range(100):
            worker.poke()

        rounds.may_go.set()

        wait_until(lambda: not worker.is_busy)
        assert rounds.count == 2


def test_a_round_comes_by_itself_when_the_one_before_said_so() -> None:
    rounds = Rounds(seconds=0.01)
    with working(rounds) as worker:
        wait_until(lambda: rounds.count > 3)

        assert not worker.is_ended


def test_without_a_poke_and_a_time_there_is_no_further_round() -> None:
    rounds = Rounds()
    with working(rounds) as worker:
        wait_until(lambda: not worker.is_busy)
        worker.poke()
        wait_until(lambda: not worker.is_busy)

        assert rounds.count == 2


@pytest.mark.parametrize("error", [NeedsRepair("the disk is full"), OSError("gone")])
def test_an_error_is_logged_and_the_next_round_runs(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    rounds = Rounds()
    rounds.errors.append(error)
    with caplog.at_level(logging.WARNING), working(rounds) as worker:
        wait_until(lambda: not worker.is_busy)
        worker.poke()
        wait_until(lambda: rounds.count == 2)

    assert "test: " in caplog.text and str(error) in caplog.text


def test_a_round_that_failed_is_tried_again_by_itself_where_that_is_wanted() -> None:
    rounds = Rounds()
    rounds.errors += [OSError("gone"), OSError("gone")]
    with working(rounds, retry_seconds=0.01) as worker:
        wait_until(lambda: rounds.count == 3 and not worker.is_busy)

    assert rounds.count == 3


def test_it_is_busy_from_the_poke_to_the_end_of_the_round_and_never_between() -> None:
    rounds = Rounds(seconds=1000.0)
    with working(rounds) as worker:
        wait_until(lambda: not worker.is_busy)  # a round that is due later does not count
        for wanted in range(2, 200):
            worker.poke()
            while worker.is_busy:
                pass
            assert rounds.count == wanted


def test_one_that_was_never_started_is_not_busy_and_can_be_closed() -> None:
    worker = Worker("test", Rounds())
    worker.poke()

    assert not worker.is_busy
    worker.close()


def test_closing_waits_for_the_round_under_way_and_no_other_follows() -> None:
    rounds = Rounds(seconds=0.0)
    rounds.may_go.clear()
    with working(rounds) as worker:
        wait_until(lambda: rounds.count == 1)
        closing = threading.Thread(target=worker.close)
        closing.start()
        wait_until(lambda: worker.is_ended)
        assert closing.is_alive()

        rounds.may_go.set()

        closing.join(60)
        assert (closing.is_alive(), rounds.count, worker.is_busy) == (False, 1, False)


def test_closing_waits_no_longer_than_it_is_bounded() -> None:
    rounds = Rounds()
    rounds.may_go.clear()
    with working(rounds, end_seconds=0.05) as worker:
        wait_until(lambda: rounds.count == 1)

        worker.close()  # returns, although the round is held

        assert worker.is_busy


def test_a_pause_within_a_round_ends_with_the_worker() -> None:
    paused = threading.Event()

    def work() -> None:
        paused.set()
        worker.pause(1000.0)

    worker = Worker("test", work, end_seconds=60.0)
    worker.start()
    assert paused.wait(60)
    began = time.monotonic()

    worker.close()

    assert not worker.is_busy and time.monotonic() - began < 60
