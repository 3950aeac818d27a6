"""Typed lines and the blackboard follow the archive, and are made again from it."""

import datetime as dt
from pathlib import Path

from crawler.archive.append import Ingester
from crawler.archive.store import Archive
from crawler.closed import ClosedWhen
from crawler.compress.run import compress_closed
from crawler.reading.record import Readings
from memory_server.index.typed_lines import TypedLines
from memory_server.layers.blackboard import Blackboard
from memory_server.root.paths import MemoryRoot
from oneiros.ingest.typed_lines import Recorder, open_tasks
from tests.crawler.builders import (
    SESSION,
    Record,
    assistant,
    call,
    person,
    result,
    settings_in,
    turns_of,
    working_session,
    write_transcript,
)
from tests.memories import root_at

NOON = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)


def archived(folder: Path, *records: Record) -> MemoryRoot:
    """A memory that has taken one session in."""
    root = root_at(folder / "memory")
    transcript = write_transcript(folder / "transcripts", *(records or working_session()))
    with Ingester(settings_in(root.path)) as ingester:
        ingester.ingest([transcript])
    return root


def recorder_of(root: MemoryRoot, name: str = "sessions.db") -> tuple[Recorder, TypedLines]:
    typed_lines = TypedLines(root.derived_folder / name)
    return Recorder(root, Archive(root.path / "sessions" / "archive"), typed_lines), typed_lines


def test_a_lost_digest_is_made_again_the_same_and_nothing_is_read_twice(tmp_path: Path) -> None:
    root = archived(tmp_path)
    first, typed_lines = recorder_of(root)
    again, anew = recorder_of(root, "anew.db")

    assert (first.bring_level(), first.bring_level(), again.bring_level()) == (1, 0, 1)
    assert typed_lines.of_session(SESSION) == anew.of_session(SESSION) != []
    typed_lines.close()
    anew.close()


def test_the_mark_of_a_long_session_is_short(tmp_path: Path) -> None:
    root = archived(tmp_path, *(assistant(number, f"The relay waits {number} s.") for number in range(1, 400)))
    recorder, typed_lines = recorder_of(root)

    recorder.bring_level()

    assert len(typed_lines.marks()[SESSION]) < 200
    typed_lines.close()


def test_a_session_that_leaves_the_archive_leaves_the_digest(tmp_path: Path) -> None:
    root = archived(tmp_path)
    recorder, typed_lines = recorder_of(root)
    recorder.bring_level()
    (root.path / "sessions" / "archive" / "sessions" / f"{SESSION}.json").unlink()

    recorder.bring_level()

    assert typed_lines.of_session(SESSION) == [] and typed_lines.marks() == {}
    typed_lines.close()


def test_a_running_session_tells_the_others_what_it_decided(tmp_path: Path) -> None:
    root = archived(tmp_path)
    recorder, typed_lines = recorder_of(root)

    recorder.note(SESSION, NOON, has_ended=False)

    assert "decision: I decided to send a keepalive every 300 seconds" in Blackboard(root).text(NOON)
    typed_lines.close()


def test_open_tasks_are_those_of_the_last_list(tmp_path: Path) -> None:
    tasks = [{"content": "write", "status": "completed"}, {"content": "ship", "status": "pending"}]
    turns = turns_of(
        tmp_path,
        assistant(1, call("TodoWrite", "c1", todos=[{"content": "old", "status": "pending"}])),
        result(2, "c1", "ok"),
        assistant(3, call("TodoWrite", "c2", todos=tasks)),
        result(4, "c2", "ok"),
    )

    assert open_tasks(turns) == ["pending: ship"]


def test_tasks_that_are_made_one_by_one_are_open_until_they_are_done(tmp_path: Path) -> None:
    turns = turns_of(
        tmp_path,
        assistant(1, call("TaskCreate", "c1", subject="Write the fixture", description="of the relay")),
        result(2, "c1", "Task #1 created successfully: Write the fixture"),
        assistant(3, call("TaskCreate", "c2", subject="Ship it", description="")),
        result(4, "c2", "Task #2 created successfully: Ship it"),
        assistant(5, call("TaskCreate", "c3", subject="Drop me", description="")),
        result(6, "c3", "Task #3 created successfully: Drop me"),
        assistant(7, call("TaskUpdate", "c4", taskId="1", status="completed")),
        result(8, "c4", "Updated task #1 status"),
        assistant(9, call("TaskUpdate", "c5", taskId="2", status="in_progress", subject="Ship the relay")),
        result(10, "c5", "Updated task #2 status, subject"),
        assistant(11, call("TaskUpdate", "c6", taskId="3", status="deleted")),
        result(12, "c6", "Updated task #3 status"),
        assistant(13, call("TaskUpdate", "c7", taskId="9", addBlockedBy=["1"])),
        result(14, "c7", "Updated task #9 blockedBy"),
    )

    assert open_tasks(turns) == ["in_progress: Ship the relay"]


def test_a_session_of_a_real_client_leaves_its_open_tasks_to_the_next(tmp_path: Path) -> None:
    records = [
        person(1, "Please write the fixture of the relay and ship it afterwards."),
        assistant(2, call("TaskCreate", "c1", subject="Write the fixture", activeForm="Writing")),
        result(3, "c1", "Task #1 created successfully: Write the fixture"),
        assistant(4, call("TaskCreate", "c2", subject="Ship the relay")),
        result(5, "c2", "Task #2 created successfully: Ship the relay"),
        assistant(6, call("TaskUpdate", "c3", taskId="1", status="completed")),
        result(7, "c3", "Updated task #1 status"),
    ]
    root = archived(tmp_path, *records)
    recorder, typed_lines = recorder_of(root)
    archive = Archive(root.path / "sessions" / "archive")
    when = ClosedWhen(NOON.replace(year=2030), ended={}, process_start=lambda _: None)
    compress_closed(archive, root.sessions, Readings(root.path / "sessions" / "readings"), when)

    recorder.note(SESSION, NOON, has_ended=True)

    assert "- [ ] Ship the relay" in Blackboard(root).text(NOON)
    assert "Write the fixture" not in Blackboard(root).text(NOON).partition("## Next Steps")[2]
    typed_lines.close()
