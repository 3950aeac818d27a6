"""The days, months and years that a question names."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_server.language.times import NamedTime, find_named_times, find_times


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What was painted on October 13, 2023?", [NamedTime(2023, 10, 13)]),
        ("What was said on 3 June, 2023, and on the 4th of July?", [NamedTime(2023, 6, 3), NamedTime(0, 7, 4)]),
        ("the release of march 2026", [NamedTime(2026)]),
        ("the release of March 2026", [NamedTime(2026, 3)]),
        ("the release of may or of february", [NamedTime(0, 2)]),
        ("May I ask what broke in May?", [NamedTime(0, 5)]),
        ("the run of 2026-11-21 or of 2026-11", [NamedTime(2026, 11, 21), NamedTime(2026, 11)]),
        ("the plan for 2025", [NamedTime(2025)]),
        ("port 2525, version 2024.1, 127.0.0.1:2024, a2024 and 2023-x", []),
        ("nothing of the kind", []),
    ],
)
def test_a_text_names_times(text: str, expected: list[NamedTime]) -> None:
    assert list(find_named_times(text)) == expected


@pytest.mark.parametrize(
    ("date", "held"),
    [("2023-10-01", True), ("2023-10-31", True), ("2023-11-01", True), ("2023-11-02", False), ("2022-10-05", False)],
)
def test_a_month_holds_its_days_and_the_one_behind_them(date: str, held: bool) -> None:
    assert NamedTime(2023, 10).holds(dt.date.fromisoformat(date)) == held


def test_what_is_not_named_may_be_any() -> None:
    assert NamedTime(month=2, day=29).holds(dt.date(2024, 2, 29))
    assert not NamedTime(month=2, day=29).holds(dt.date(2024, 2, 28))


def test_the_first_day_of_the_calendar_has_none_before_it() -> None:
    assert NamedTime(1).holds(dt.date.min) and not NamedTime(2026).holds(dt.date.min)


PIECES = st.sampled_from(
    "since after before until between from and to the last this past 999 two an years months weeks days ago week 53"
    " kw 0 2026-13 2026-02-31 2026-00-00 2000-w53 february 29 29th 1999 march 31 monday weekend yesterday".split()
)


@given(st.lists(PIECES, max_size=8).map(" ".join), st.dates(dt.date(1990, 1, 1), dt.date(2100, 1, 1)))
def test_any_words_name_times_or_none(text: str, today: dt.date) -> None:
    for time in find_times(text, today):
        assert time.is_of(today) in (True, False) and time.holds(dt.date.min) in (True, False)
