"""Relative dates of a sentence, made absolute."""

import datetime as dt

import pytest

from dream.statements.dates import absolute

SUNDAY = dt.datetime(2026, 3, 1, 10, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We ship tomorrow.", "We ship on 2026-03-02."),
        ("We ship next Friday.", "We ship on 2026-03-06."),
        ("Since yesterday it fails.", "Since 2026-02-28 it fails."),
        ("It holds until next week.", "It holds until the week of 2026-03-02."),
        ("Today's menu is on the wiki.", "Today's menu is on the wiki."),
        ("The freeze is in two weeks.", "The freeze is around 2026-03-15."),
        ("The audit is next month.", "The audit is in 2026-04."),
        ("A year ends.", "A year ends."),
    ],
)
def test_a_relative_date_becomes_absolute(text: str, expected: str) -> None:
    assert absolute(text, SUNDAY) == expected


def test_without_a_time_a_relative_date_stays() -> None:
    assert absolute("We ship tomorrow.", None) == "We ship tomorrow."
