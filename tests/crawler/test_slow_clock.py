"""Transcripts that a machine reads whose own clock is behind."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from crawler.transcripts.entry import Entry, Stamps

STAMPED = datetime(2026, 3, 1, 10, tzinfo=UTC)
YEAR = timedelta(days=365)


def test_what_was_written_when_it_is_stamped_keeps_its_time_where_this_clock_is_behind(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    file.touch()
    os.utime(file, (STAMPED.timestamp(), STAMPED.timestamp()))
    entry, written = Entry(id="a", time=STAMPED.isoformat()), file.stat().st_mtime_ns

    [kept] = Stamps(STAMPED - YEAR, written).check([entry])
    [lost] = Stamps(STAMPED - YEAR, written - int(YEAR.total_seconds() * 1e9)).check([entry])

    assert (kept.time, lost.time) == (entry.time, "")
