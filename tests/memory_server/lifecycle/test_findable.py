"""The loss alarm: what shrinks without a command is said for a week, or until it is there again."""

import datetime as dt
from pathlib import Path

import pytest

from memory_server.lifecycle.fading import LifeMark, add_mark
from memory_server.lifecycle.findable import note_findable, read_findable, read_losses
from memory_server.root.paths import MemoryRoot
from tests.dream.builders import git
from tests.memories import new_root, write_topic

DAY = dt.date(2026, 3, 1)
MODEL = "model 6"


@pytest.fixture
def root(tmp_path: Path) -> MemoryRoot:
    made = new_root(tmp_path / "memory")
    note(made, 100)
    return made


def note(root: MemoryRoot, topics: int, days: int = 0, made_by: str = MODEL) -> None:
    note_findable(root, {"topics": topics, "sessions": 10}, made_by, DAY + dt.timedelta(days=days))


def list_losses(root: MemoryRoot) -> list[str]:
    return list(map(str, read_losses(root)))


def test_a_drop_of_more_than_two_percent_is_said_once_and_for_a_week(root: MemoryRoot) -> None:
    note(root, 97)
    note(root, 97)
    assert list_losses(root) == ["3 of 100 topics are found no more since 2026-03-01, and no command took them away"]

    note(root, 97, days=6)
    assert len(list_losses(root)) == 1
    note(root, 97, days=7)
    assert list_losses(root) == []


def test_growth_and_a_drop_of_two_percent_are_none(root: MemoryRoot) -> None:
    for days, topics in enumerate((98, 97, 120), start=1):
        note(root, topics, days)

    assert list_losses(root) == []


def test_what_is_there_again_is_said_no_more(root: MemoryRoot) -> None:
    note(root, 50, days=1)
    assert list_losses(root)
    note(root, 100, days=2)

    assert list_losses(root) == []


def test_what_a_command_took_away_or_another_model_counts_otherwise_is_no_loss(root: MemoryRoot) -> None:
    add_mark(root.marks, LifeMark(dt.datetime(2026, 3, 1, tzinfo=dt.UTC), keep="x"))
    note(root, 50)
    assert list_losses(root) == []

    note(root, 40, made_by="another")
    assert list_losses(root) == []


def test_topics_that_a_commit_took_away_are_no_loss(root: MemoryRoot) -> None:
    for number in range(3):
        write_topic(root, f"t{number}", f"# T{number}\n\n- The port is {number}.\n")
    git(root.path, "init", "-q")
    git(root.path, "add", ".")
    git(root.path, "commit", "-qm", "Begin")
    note_findable(root, {"topics": 3, "passages of topics": 3}, "other", dt.date.today())
    git(root.path, "rm", "-q", "topics/t0.md")
    note_findable(root, {"topics": 2, "passages of topics": 2}, "other", dt.date.today())
    assert len(list_losses(root)) == 2

    git(root.path, "commit", "-qm", "Drop t0")
    assert list_losses(root) == []

    (root.topics / "t1.md").unlink()
    note_findable(root, {"topics": 1, "passages of topics": 1}, "other", dt.date.today())
    assert list_losses(root)[0].startswith("2 of 3 topics are found no more")


def test_a_note_that_cannot_be_read_begins_anew(root: MemoryRoot) -> None:
    root.findable.write_text("{", encoding="utf-8")
    assert (read_findable(root), list_losses(root)) == (None, [])

    note(root, 5)
    note(root, 4)
    assert len(list_losses(root)) == 1
