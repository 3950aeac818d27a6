import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from crawler.archive.append import IngestLimits
from crawler.archive.store import Archive
from crawler.closed import ClosedWhen
from crawler.ingest import IngestReport, forget, ingest, readmit, sessions_meant
from crawler.reading.record import Readings
from memory_server.errors import ContentError
from tests.crawler.builders import SESSION, person, settings_in, to_lines, working_session, write_transcript

CLOSED = ClosedWhen(datetime(2026, 3, 5, tzinfo=UTC), process_start=lambda pid: None)


def take(tmp_path: Path, *, dry_run: bool = False) -> IngestReport:
    settings, compressed = settings_in(tmp_path / "root"), tmp_path / "root" / "compressed"
    readings, limits = Readings(compressed.parent / "readings"), IngestLimits(dry_run=dry_run)
    return ingest([tmp_path / "live"], settings, compressed, readings, CLOSED, limits=limits)


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_transcripts_become_an_archive_and_compressed_files_in_one_call(tmp_path: Path) -> None:
    write_transcript(tmp_path / "live", *working_session())

    first, second = take(tmp_path), take(tmp_path)

    assert first.compress is not None and len(first.compress.written) == 1
    assert second.compress is not None and (second.ingest.read, second.compress.written) == (0, [])


def test_a_closed_session_that_grew_is_one_object(tmp_path: Path) -> None:
    path = write_transcript(tmp_path / "live", *working_session()[:4])
    take(tmp_path)
    path.write_bytes(to_lines(*working_session()))
    take(tmp_path)

    archive = Archive(tmp_path / "root" / "sessions" / "archive")
    assert len(archive.record(SESSION).segments) == 1
    assert archive.verify() == []


def test_a_dry_run_compresses_nothing(tmp_path: Path) -> None:
    write_transcript(tmp_path / "live", *working_session())

    assert take(tmp_path, dry_run=True).compress is None
    assert files_below(tmp_path / "root" / "compressed") == []


@pytest.mark.parametrize("by", ["session", "prefix", "file", "folder"])
def test_what_is_forgotten_leaves_no_byte_and_stays_out(tmp_path: Path, by: str) -> None:
    path = write_transcript(tmp_path / "live", *working_session(), person(11, "the xylophone clause"))
    take(tmp_path)
    what = {"session": SESSION, "prefix": SESSION[:8], "file": str(path), "folder": str(path.parent)}[by]

    settings, compressed = settings_in(tmp_path / "root"), tmp_path / "root" / "compressed"
    meant, there = sessions_meant(what, settings, compressed), files_below(compressed)

    forget(meant, settings, compressed)
    again = take(tmp_path)

    assert (meant, len(there), files_below(compressed)) == ([SESSION], 1, [])
    assert (again.ingest.entries, Archive(tmp_path / "root" / "sessions" / "archive").session_ids()) == (0, [])
    left = {file.name: file.read_bytes() for file in files_below(tmp_path / "root") if "sessions.db" not in file.name}
    assert [name for name, content in left.items() if b"xylophone" in content or SESSION.encode() in content] == []


def test_a_mark_takes_out_what_was_taken_in_and_compressed_and_can_be_undone(tmp_path: Path) -> None:
    path = write_transcript(tmp_path / "live", *working_session())
    take(tmp_path)
    with path.open("ab") as stream:
        stream.write(to_lines(person(11, "Enough.\n\n#no-memory\n")))
    settings, compressed = settings_in(tmp_path / "root"), tmp_path / "root" / "compressed"

    take(tmp_path)
    left = files_below(compressed), Archive(settings.archive).session_ids()
    again = take(tmp_path)
    paths = readmit(SESSION[:8], settings, [tmp_path / "live"], CLOSED.now)
    back = take(tmp_path)

    assert left == ([], []) and (again.ingest.marked, again.ingest.entries) == (set(), 0)
    assert paths == [path] and back.ingest.entries == 11
    assert back.compress is not None and back.compress.session_ids == [SESSION]


def test_a_mark_in_a_session_whose_compressed_file_alone_is_left_removes_that(tmp_path: Path) -> None:
    path = write_transcript(tmp_path / "live", *working_session())
    take(tmp_path)
    shutil.rmtree(tmp_path / "root" / "sessions")
    path.write_bytes(to_lines(*working_session(), person(11, "#no-memory")))

    take(tmp_path)

    assert files_below(tmp_path / "root" / "compressed") == []


def test_nothing_can_be_brought_back_without_its_transcript(tmp_path: Path) -> None:
    path = write_transcript(tmp_path / "live", *working_session())
    take(tmp_path)
    forget([SESSION], settings_in(tmp_path / "root"), tmp_path / "root" / "compressed")
    path.unlink()

    with pytest.raises(ContentError, match="without one nothing can be brought back"):
        readmit(SESSION, settings_in(tmp_path / "root"), [tmp_path / "live"], CLOSED.now)


@pytest.mark.parametrize("what", ["99999999", "/nowhere/at/all.jsonl"])
def test_forgetting_what_was_never_taken_in_is_an_error_that_says_what_to_do(tmp_path: Path, what: str) -> None:
    with pytest.raises(ContentError, match=r"Run `oneiros ingest` first|Name the session by its id"):
        sessions_meant(what, settings_in(tmp_path / "root"), tmp_path / "root" / "compressed")
