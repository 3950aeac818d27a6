"""The recorder's lines and the blackboard follow the archive, and are made again from it."""

import datetime as dt
from pathlib import Path

from crawler.archive.append import Ingester
from crawler.archive.store import Archive
from memory_server.index.typed_lines import TypedLines
from memory_server.layers.blackboard import Blackboard
from memory_server.root.paths import MemoryRoot
from oneiros.ingest.typed_lines import Recorder, open_tasks
from tests.crawler.builders import (
    SESSION,
    assistant,
    call,
    result,
    settings_in,
    turns_of,
    working_session,
    write_transcript,
)
from tests.memories import root_at

NOON = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)


def archived(folder: Path) -> MemoryRoot:
    """A memory that has taken one session in."""
    root = root_at(folder / "memory")
    transcript = write_transcript(folder / "transcripts", *working_session())
    with Ingester(settings_in(root.path)) as ingester:
        ingester.ingest([transcript])
    return root


def recorder_of(root: MemoryRoot, name: str = "digest.db") -> tuple[Recorder, TypedLines]:
    digest = TypedLines(root.derived / name)
    return Recorder(root, Archive(root.path / "sessions" / "archive"), digest), digest


def test_a_lost_digest_is_made_again_the_same_and_nothing_is_read_twice(tmp_path: Path) -> None:
    root = archived(tmp_path)
    first, digest = recorder_of(root)
    again, anew = recorder_of(root, "anew.db")

    assert (first.bring_level(), first.bring_level(), again.bring_level()) == (1, 0, 1)
    assert digest.of_session(SESSION) == anew.of_session(SESSION) != []
    digest.close()
    anew.close()


def test_a_session_that_leaves_the_archive_leaves_the_digest(tmp_path: Path) -> None:
    root = archived(tmp_path)
    recorder, digest = recorder_of(root)
    recorder.bring_level()
    (root.path / "sessions" / "archive" / "sessions" / f"{SESSION}.json").unlink()

    recorder.bring_level()

    assert digest.of_session(SESSION) == [] and digest.marks() == {}
    digest.close()


def test_a_running_session_tells_the_others_what_it_decided(tmp_path: Path) -> None:
    root = archived(tmp_path)
    recorder, digest = recorder_of(root)

    recorder.note(SESSION, NOON, has_ended=False)

    assert "decision: I decided to send a keepalive every 300 seconds" in Blackboard(root).text(NOON)
    digest.close()


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
