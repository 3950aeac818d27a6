"""Values of a sentence; any text can be read for them and for dates."""

import datetime as dt
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.statements.dates import absolute
from dream.statements.values import ValueKind, find_values

SUNDAY = dt.datetime(2026, 3, 1, 10, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The relay listens on port 2525.", [(ValueKind.ADDRESS, "2525")]),
        ("It runs on 10.4.0.17:8443.", [(ValueKind.ADDRESS, "10.4.0.17:8443")]),
        ("We are on version 4.2.", [(ValueKind.VERSION, "4.2")]),
        ("The talk is on May 20 at 3 PM.", [(ValueKind.DATE, "05-20"), (ValueKind.TIME, "15:00")]),
        ("Logs lie in /var/log/relay.", [(ValueKind.PATH, "/var/log/relay")]),
        ("It ends in 2026-04.", [(ValueKind.DATE, "2026-04")]),
        ("It is at https://wiki.lan/team, mostly.", [(ValueKind.ADDRESS, "https://wiki.lan/team")]),
        ("it takes 1,200 calls", [(ValueKind.QUANTITY, "1200")]),
        ("it takes twelve calls", [(ValueKind.QUANTITY, "12")]),
        ("run it with --dev-key", [(ValueKind.NAME, "--dev-key")]),
    ],
)
def test_a_value_is_found_with_its_kind(sentence: str, expected: list[tuple[ValueKind, str]]) -> None:
    assert [(value.kind, value.value) for value in find_values(sentence)] == expected


def test_what_a_value_was_before_is_marked() -> None:
    values = find_values("It improved from 70% to 90%.")

    assert [(value.value, value.is_former) for value in values] == [("70", True), ("90", False)]


def test_a_number_knows_what_it_counts() -> None:
    assert [value.unit for value in find_values("150 commits and 12% of $40")] == ["commit", "%", "$"]


PIECES = st.sampled_from(
    (
        "May",
        "31",
        "99",
        "in",
        "999",
        "weeks",
        "12:75",
        "pm",
        "from",
        "to",
        "%",
        "$",
        ".",
        ",",
        "v",
        "1.2.3",
        "/",
        "`",
        "--x",
    )
)


@given(st.lists(PIECES, max_size=12).map(" ".join) | st.text(max_size=80))
def test_any_text_can_be_read_for_values_and_dates(text: str) -> None:
    values = find_values(text)

    assert all(0 <= value.first < value.end <= len(text) for value in values)
    assert all(one.end <= other.first for one, other in pairwise(values))
    assert isinstance(absolute(text, SUNDAY), str)
