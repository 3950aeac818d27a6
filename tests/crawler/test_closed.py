import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from crawler.closed import ClosedWhen, LiveMarker, note_end, process_start, read_ends, read_markers

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
STARTED = NOW - timedelta(hours=3)
MARKER = LiveMarker(7, "s", STARTED.timestamp() * 1000)


def closed(
    *,
    idle_hours: float = 1.0,
    ended: datetime | None = None,
    marker: LiveMarker | None = None,
    process: datetime | None = None,
) -> bool:
    markers = [marker] if marker else []
    when = ClosedWhen(NOW, {"s": ended} if ended else {}, markers, process_start=lambda pid: process)
    return when.applies("s", NOW - timedelta(hours=idle_hours))


def test_a_session_that_was_written_to_lately_is_open() -> None:
    assert not closed(idle_hours=5.9)


def test_a_session_that_was_idle_for_hours_is_closed() -> None:
    assert closed(idle_hours=6)


def test_a_session_whose_end_was_seen_is_closed_at_once() -> None:
    assert closed(idle_hours=0, ended=NOW)


def test_a_session_that_was_resumed_after_its_end_is_open() -> None:
    assert not closed(idle_hours=1, ended=NOW - timedelta(hours=2))


def test_ends_are_kept_and_a_torn_line_is_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "ended.jsonl"
    for session_id, at in (("a", STARTED), ("b", STARTED), ("a", NOW)):
        note_end(file, session_id, at)
    with file.open("a", encoding="utf-8") as stream:
        stream.write('{"session_id": "c"')

    assert read_ends(file) == {"a": NOW, "b": STARTED}
    assert read_ends(tmp_path / "none") == {}


def test_a_session_whose_process_lives_is_open_however_long_it_was_idle() -> None:
    assert not closed(idle_hours=100, marker=MARKER, process=STARTED)


def test_a_session_whose_process_is_gone_is_closed_at_once() -> None:
    assert closed(idle_hours=0, marker=MARKER, process=None)


def test_a_pid_that_belongs_to_a_later_process_does_not_keep_a_session_open() -> None:
    assert closed(idle_hours=0, marker=MARKER, process=STARTED + timedelta(hours=1))


def test_markers_of_another_shape_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text(json.dumps({"pid": 1, "sessionId": "s", "startedAt": 1_772_366_400_000}))
    (tmp_path / "2.json").write_text("not json")
    (tmp_path / "3.json").write_text(json.dumps({"pid": "x"}))

    assert list(read_markers(tmp_path)) == [LiveMarker(1, "s", 1_772_366_400_000)]


def test_this_process_started_in_the_past_and_an_unused_pid_did_not_start() -> None:
    started = process_start(os.getpid())

    assert started is not None and started <= datetime.now(UTC)
    assert process_start(2**22 + 1) is None
