"""Which day an instant lies in."""

import datetime as dt
import os
import time
from collections.abc import Iterator

import pytest

from memory_server.errors import UsageError
from memory_server.layers.mif import parse_date
from memory_server.layers.sessions import stamp
from memory_server.machine.clock import MACHINE_ZONE, find_day_begin, local, local_day, use_zone
from memory_server.settings import PersonSettings

MONDAY_EVENING = dt.datetime(2026, 11, 24, 6, 30, tzinfo=dt.UTC)  # 22:30 of the 23rd in Los Angeles


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """The zone of Los Angeles, until the test ends."""
    monkeypatch.setenv("TZ", "America/Los_Angeles")
    monkeypatch.setenv(MACHINE_ZONE, "")
    monkeypatch.delenv(MACHINE_ZONE)  # as it was before, when the test ends
    time.tzset()
    yield monkeypatch
    monkeypatch.undo()
    time.tzset()


def test_a_time_in_utc_lies_in_the_day_of_the_persons_zone(zone: pytest.MonkeyPatch) -> None:
    assert local_day(MONDAY_EVENING) == dt.date(2026, 11, 23)
    assert f"{local(MONDAY_EVENING):%H:%M}" == "22:30"


def test_a_time_with_an_offset_of_its_own_keeps_its_day(zone: pytest.MonkeyPatch) -> None:
    assert local_day(dt.datetime.fromisoformat("2026-11-24T01:30:00+05:30")) == dt.date(2026, 11, 24)


@pytest.mark.parametrize("zone_name", ["Pacific/Kiritimati", "Pacific/Marquesas", "Asia/Kathmandu"])
def test_the_setting_names_the_zone(zone: pytest.MonkeyPatch, zone_name: str) -> None:
    use_zone(zone_name)

    assert local_day(MONDAY_EVENING).day == (23 if zone_name == "Pacific/Marquesas" else 24)


def test_a_setting_that_is_emptied_brings_the_zone_of_the_machine_back(zone: pytest.MonkeyPatch) -> None:
    for name in ("Asia/Tokyo", "Asia/Kathmandu", "", ""):
        use_zone(name)

    assert f"{local(MONDAY_EVENING):%H:%M}" == "22:30"


def test_a_machine_without_a_zone_in_its_environment_has_none_there_again(zone: pytest.MonkeyPatch) -> None:
    zone.delenv("TZ")

    use_zone("Asia/Tokyo")
    use_zone("")

    assert "TZ" not in os.environ


def test_a_zone_that_nobody_knows_is_refused() -> None:
    with pytest.raises(UsageError, match="time_zone is 'Mars/Base'"):
        PersonSettings(time_zone="Mars/Base")


@pytest.mark.parametrize("day", [dt.date(2026, 3, 8), dt.date(2026, 11, 1), dt.date(2026, 6, 1)])
def test_a_day_begins_in_itself_when_clocks_are_changed_too(zone: pytest.MonkeyPatch, day: dt.date) -> None:
    assert local_day(find_day_begin(day)) == day
    assert local_day(find_day_begin(day).astimezone(dt.UTC) - dt.timedelta(seconds=1)) == day - dt.timedelta(days=1)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-11-24", 24),
        ("2026-11-24T06:30:00Z", 23),
        ("2026-11-24T06:30:00+09:00", 24),
        ("2026-11-24T00:00:00Z", 24),
        ("2026-11-24 00:00:00+00:00", 24),
        ("2026-11-24T06:30:00", 24),
        ("2026-11-24 in the morning", 24),
    ],
)
def test_a_date_in_a_head_is_a_day_and_a_timestamp_a_local_one(zone: pytest.MonkeyPatch, text: str, day: int) -> None:
    assert parse_date(text) == dt.date(2026, 11, day)


def test_a_stamp_names_the_offset_so_that_its_day_stays_elsewhere(zone: pytest.MonkeyPatch) -> None:
    written = stamp(MONDAY_EVENING)
    use_zone("Asia/Tokyo")

    assert written == "2026-11-23T22:30:00-08:00"
    assert parse_date(written) == dt.date(2026, 11, 23)
