"""Which transcripts the client deletes before they are archived."""

import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from crawler.archive.append import Ingester
from crawler.archive.choice import Choice
from crawler.archive.waiting import CLEANUP_DAYS, cleanup_days, count_waiting
from memory_server.completeness import SkipKind
from tests.crawler.builders import (
    OTHER_SESSION,
    SESSION,
    person,
    settings_in,
    to_lines,
    working_session,
    write_transcript,
)


def test_sessions_that_would_be_lost_are_counted(tmp_path: Path) -> None:
    now = datetime(2026, 3, 30, tzinfo=UTC)
    lasting = write_transcript(tmp_path / "live", *working_session())
    settings = settings_in(tmp_path / "root")
    with Ingester(settings) as ingester:
        ingester.ingest([tmp_path / "live"])
    for session, days_old in ((OTHER_SESSION, 25), (OTHER_SESSION.replace("2", "3"), 2)):
        path = write_transcript(tmp_path / "live", person(1, "new"), session=session)
        moment = now.timestamp() - days_old * 86400
        os.utime(path, (moment, moment))

    waiting = count_waiting([tmp_path / "live"], settings, now=now)

    assert lasting.exists()
    assert (waiting.not_archived, waiting.expiring, waiting.folders) == (2, 1, 1)
    assert waiting.bytes == sum(file.stat().st_size for file in (tmp_path / "live").rglob("*.jsonl") if file != lasting)


def test_where_the_table_of_files_read_is_gone_the_archive_tells_what_it_holds(tmp_path: Path) -> None:
    live, now = tmp_path / "live", datetime(2026, 3, 30, tzinfo=UTC)
    write_transcript(live, *working_session())
    grown = write_transcript(live, person(1, "new", session=OTHER_SESSION), session=OTHER_SESSION)
    settings = settings_in(tmp_path / "root")
    with Ingester(settings) as ingester:
        ingester.ingest([live])
    settings.state.unlink()
    assert count_waiting([live], settings, now=now).not_archived == 0

    grown.write_bytes(grown.read_bytes() + to_lines(person(2, "and more", session=OTHER_SESSION)))

    assert count_waiting([live], settings, now=now).not_archived == 1


def test_a_transcript_whose_last_record_is_nested_too_deep_waits_like_any_other(tmp_path: Path) -> None:
    live, now = tmp_path / "live", datetime(2026, 3, 30, tzinfo=UTC)
    write_transcript(live, *working_session())
    settings = settings_in(tmp_path / "root")
    with Ingester(settings) as ingester:
        ingester.ingest([live])
    deep = write_transcript(live, person(1, "new", session=OTHER_SESSION), session=OTHER_SESSION)
    deep.write_bytes(deep.read_bytes() + b'{"deep": ' + b"[" * 5_000 + b"]" * 5_000 + b"}\n")

    assert count_waiting([live], settings, now=now).not_archived == 1


def test_what_the_person_forgot_or_left_out_does_not_wait(tmp_path: Path) -> None:
    live, now = tmp_path / "live", datetime(2026, 3, 30, tzinfo=UTC)
    write_transcript(live, *working_session())
    marked = write_transcript(live, person(1, "#no-memory", session=OTHER_SESSION), session=OTHER_SESSION)
    settings = settings_in(tmp_path / "root")
    with Ingester(settings) as ingester:
        ingester.ingest([live])
        ingester.forget(SESSION)
    marked.write_bytes(marked.read_bytes() + to_lines(person(2, "and more", session=OTHER_SESSION)))

    waiting = count_waiting([live], settings, now=now)
    assert (waiting.not_archived, waiting.expiring, waiting.left_out) == (0, 0, 2)

    with Ingester(settings) as ingester:
        ingester.ingest([live])
    waiting = count_waiting([live], settings, now=now)
    assert (waiting.not_archived, waiting.left_out) == (0, 2)


def test_a_memory_of_one_project_names_no_file_of_another(tmp_path: Path) -> None:
    live, now = tmp_path / "live", datetime(2026, 3, 30, tzinfo=UTC)
    for name, session in (("own", SESSION), ("other", OTHER_SESSION)):
        (tmp_path / name).mkdir()
        file = write_transcript(live / name, person(1, "new", cwd=str(tmp_path / name)), session=session)
        file.write_bytes(file.read_bytes() + b"no record\n" + to_lines(person(2, "and more")))
        (live / name / "x.jsonl").mkdir()
    settings = replace(settings_in(tmp_path / "root"), choice=Choice(only=str(tmp_path / "own")))
    with Ingester(settings) as ingester:
        ingester.ingest([live])

    skipped = count_waiting([live], settings, now=now).skipped

    assert [(one.kind, Path(one.where).name) for one in skipped] == [
        (SkipKind.TRANSCRIPT, ""),
        (SkipKind.TRANSCRIPT, "x.jsonl"),
        (SkipKind.LINE, f"{SESSION}.jsonl"),
    ]


@pytest.mark.parametrize(
    ("written", "days"),
    [
        ('{"cleanupPeriodDays": 365, "model": "opus"}', 365),
        ('{"model": "opus"}', CLEANUP_DAYS),
        ('{"cleanupPeriodDays": "long"}', CLEANUP_DAYS),
        ("{", CLEANUP_DAYS),
        (None, CLEANUP_DAYS),
    ],
)
def test_the_clients_own_setting_says_how_long_it_keeps_a_transcript(
    tmp_path: Path, written: str | None, days: float
) -> None:
    if written is not None:
        (tmp_path / "settings.json").write_text(written, encoding="utf-8")

    assert cleanup_days(tmp_path) == days
