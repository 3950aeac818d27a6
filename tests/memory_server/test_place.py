"""Places: what a hit shows is what is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_server.document import LineRange, NamedLines, parse_place, show_place

LINES = st.integers(1, 999_999)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("mail", NamedLines("mail")),
        (" mail:12 ", NamedLines("mail", 12)),
        ("topics/mail.md:12-30", NamedLines("topics/mail.md", 12, 30)),
        ("account:5f0c2a9e:66", NamedLines("account:5f0c2a9e", 66)),
        ("mail:0", NamedLines("mail", 1)),
        ("mail:", NamedLines("mail:")),
        ("", NamedLines("")),
    ],
)
def test_a_place_is_a_name_and_lines_if_wanted(text: str, place: NamedLines) -> None:
    assert parse_place(text) == place


def test_a_session_is_named_by_the_beginning_of_its_id() -> None:
    session = "sessions/archive/5f0c2a9e-1111-4111-8111-111111111111"

    assert show_place(session, LineRange(66, 66)) == "5f0c2a9e:66"
    assert show_place(f"account:{session}", LineRange(66, 70)) == "account:5f0c2a9e:66-70"
    assert show_place("sessions/archive/ses_4711", LineRange(1, 1)) == "ses_4711:1"


@given(st.from_regex(r"topics/[a-z]{1,8}\.md", fullmatch=True), LINES, LINES)
def test_what_is_shown_is_what_is_read(path: str, one: int, other: int) -> None:
    lines = LineRange(min(one, other), max(one, other))

    place = parse_place(show_place(path, lines))

    assert (place.name, place.first, place.last or place.first) == (path, lines.first, lines.last)
