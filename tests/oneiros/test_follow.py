import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

from oneiros.ingest import follow
from oneiros.ingest.follow import Follower, ending_on_interrupt
from tests.observers import Exhausted
from tests.system.house import wait_until


@contextmanager
def looking(folder: Path, make_observer: Callable[[], BaseObserver] = Observer) -> Iterator[tuple[Follower, list[int]]]:
    """A follower with a thread that counts the looks."""
    looks = [0]

    def count() -> None:
        while follower.wait():
            looks[0] += 1

    with Follower([folder], make_observer) as follower:
        thread = threading.Thread(target=count)
        thread.start()
        try:
            yield follower, looks
        finally:
            follower.close()
            thread.join()


def test_a_written_transcript_leads_to_a_look_also_in_a_new_folder(tmp_path: Path) -> None:
    with looking(tmp_path) as (follower, looks):
        wait_until(lambda: follower.events.watched == {tmp_path}, 60)
        file = tmp_path / "-work-app" / "a.jsonl"

        file.parent.mkdir()
        wait_until(lambda: looks[0] > 0, 50)
        before = looks[0]
        file.write_text("{}\n", encoding="utf-8")

        wait_until(lambda: looks[0] > before, 50)
        assert follower.events.manner == "events"


def test_without_file_events_it_looks_every_few_seconds_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "POLL_SECONDS", 0.01)

    with looking(tmp_path, Exhausted) as (follower, looks):
        wait_until(lambda: looks[0] > 2, 60)

    assert follower.events.manner == "polling every 0 s (no space left on device)"


def test_watches_that_run_out_lead_to_regular_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "POLL_SECONDS", 0.01)

    def exhausted_later() -> BaseObserver:
        observer = Observer()
        monkeypatch.setattr(observer, "schedule", lambda *_, **__: Exhausted())
        return observer

    with looking(tmp_path, exhausted_later) as (follower, looks):
        wait_until(lambda: looks[0] > 2, 60)

    assert follower.events.manner.startswith("polling")


def test_closing_ends_a_wait(tmp_path: Path) -> None:
    with looking(tmp_path) as (follower, looks):
        wait_until(lambda: follower.events.watched == {tmp_path}, 60)

        follower.close()

        assert not follower.wait()
    assert looks[0] == 0


def test_an_interruption_ends_the_following_wherever_it_comes(tmp_path: Path) -> None:
    class Careless:
        """A library's callback, in which a raised exception is lost."""

        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGINT)

    with Follower([tmp_path]) as follower, ending_on_interrupt(follower):
        del [Careless()][:]

        assert not follower.wait()


def test_a_second_interruption_does_not_wait(tmp_path: Path) -> None:
    with Follower([tmp_path]) as follower, ending_on_interrupt(follower):
        os.kill(os.getpid(), signal.SIGINT)

        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
