"""What sessions tell each other: whole, with its age, and each session's own."""

import datetime as dt
import threading
from pathlib import Path

import pytest

from memory_server.layers.blackboard import Blackboard, Handoff, SessionNotes, WaitingNote
from tests.memories import root_at

NOON = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)


def board_in(folder: Path) -> Blackboard:
    return Blackboard(root_at(folder))


def handoff(session_id: str, ended: dt.datetime, *done: str) -> Handoff:
    return Handoff(session_id, ended, "shop", accomplished=done, next_steps=["Ship it"], blocked=["The tunnel is down"])


def test_the_next_session_reads_what_the_last_one_left(tmp_path: Path) -> None:
    board_in(tmp_path).end(handoff("a", NOON, "The relay stays connected"))

    text = board_in(tmp_path).text(NOON + dt.timedelta(hours=3))

    assert text.startswith("(3 hours ago)\n# Handoff")
    for line in ("Project: shop", "- The relay stays connected", "- The tunnel is down", "- [ ] Ship it"):
        assert line in text.splitlines()


def test_two_sessions_that_end_together_both_keep_their_handoff(tmp_path: Path) -> None:
    board = board_in(tmp_path)
    threads = [
        threading.Thread(target=board.end, args=[handoff(f"s{number}", NOON, f"did {number}" * 200)])
        for number in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    texts = {file.read_text(encoding="utf-8") for file in board.handoffs()}
    assert len(texts) == 8 and all(text.rstrip().endswith("-") for text in texts)
    assert (tmp_path / ".blackboard" / "handoff" / "latest-handoff.md").read_text(encoding="utf-8") in texts


def test_an_older_session_that_ends_late_does_not_become_the_latest(tmp_path: Path) -> None:
    board = board_in(tmp_path)
    board.end(handoff("new", NOON, "new"))
    board.end(handoff("old", NOON - dt.timedelta(days=1), "old"))

    assert "Session: new" in (tmp_path / ".blackboard/handoff/latest-handoff.md").read_text(encoding="utf-8")


def test_running_sessions_are_shown_with_their_notes_until_they_end(tmp_path: Path) -> None:
    board = board_in(tmp_path)
    board.begin("a", "shop", NOON)
    board.write_notes(SessionNotes("a", "shop", ["decision: we use Redis"], ["write the test"]))

    assert [meta["session_id"] for meta in board.active()] == ["a"]
    assert "we use Redis" in board.text(NOON)
    board.end(handoff("a", NOON))
    assert board.active() == []
    assert board.handoffs() != []


def test_old_sessions_go_to_the_archive_and_a_forgotten_one_leaves_nothing(tmp_path: Path) -> None:
    board = board_in(tmp_path)
    board.begin("old", "shop", NOON - dt.timedelta(days=60))
    board.end(handoff("old", NOON - dt.timedelta(days=60), "secret"))
    board.end(handoff("new", NOON, "public"))
    board.tidy(NOON)
    assert (tmp_path / ".blackboard" / ".archive" / "old").is_dir()

    board.forget("old")

    left = [file for file in (tmp_path / ".blackboard").rglob("*") if file.is_file()]
    assert left and not any("secret" in file.read_text(encoding="utf-8") for file in left)


def test_a_session_that_another_process_begins_stays_where_it_is(tmp_path: Path) -> None:
    folder = tmp_path / ".blackboard" / "sessions" / "new"
    folder.mkdir(parents=True)  # as it is before anything is written in it

    board_in(tmp_path).tidy(dt.datetime.now(dt.UTC))

    assert folder.is_dir()


@pytest.mark.parametrize("name", ["../x", "", "a/b", ".hidden"])
def test_an_id_that_is_a_path_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError):
        board_in(tmp_path).begin(name, "", NOON)


@pytest.mark.parametrize(
    ("session", "project", "waits"),
    [
        ("c", "Shop", WaitingNote("a", "status", "0 minutes ago")),
        ("a", "shop", None),
        ("c", "garden", WaitingNote("b", "handoff", "0 minutes ago")),
        ("b", "garden", None),
        ("c", "mail", None),
    ],
)
def test_a_note_waits_for_the_other_sessions_of_its_project(
    tmp_path: Path, session: str, project: str, waits: WaitingNote | None
) -> None:
    board = board_in(tmp_path)
    board.begin("a", "/src/shop/.git", NOON)
    board.tell("a", "status", "I rename the relay.", NOON)
    board.end(Handoff("b", NOON, "garden", next_steps=["Water the beds."]))

    assert board.find_waiting_note(session, project, NOON) == waits
    assert board.find_waiting_note(session, "garden", NOON + dt.timedelta(days=20)) is None
