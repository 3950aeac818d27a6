"""Nothing that is shown can forge a screen or hide from a reader."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_server.escaping import escape_line, escape_text


@pytest.mark.parametrize(
    ("text", "as_shown"),
    [
        ("plain, ünïcode, 東京, 🚀", "plain, ünïcode, 東京, 🚀"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("windows\r\nbreak", "windows\nbreak"),
        ("over\rwritten", "over\\u000dwritten"),
        ("\x1b[31mred\x07", "\\u001b[31mred\\u0007"),
        ("a\u202eb\u2066c", "a\\u202eb\\u2066c"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("a\u2028b\x85c\x9bd", "a\\u2028b\\u0085c\\u009bd"),
        ("tags \U000e0041\U000e007f", "tags \\U000e0041\\U000e007f"),
        ("filler \u3164\u115f", "filler \\u3164\\u115f"),
        ("❤\ufe0f", "❤\ufe0f"),
    ],
)
def test_marks_that_hide_are_written_out(text: str, as_shown: str) -> None:
    assert escape_text(text) == as_shown


@given(st.text())
def test_nothing_shown_controls_a_screen(text: str) -> None:
    for character in escape_text(text):
        assert character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp")
        assert unicodedata.bidirectional(character) not in (
            "LRE",
            "RLE",
            "LRO",
            "RLO",
            "PDF",
            "LRI",
            "RLI",
            "FSI",
            "PDI",
        )


@given(st.text())
def test_what_is_shown_stays_as_it_is_when_shown_again(text: str) -> None:
    assert escape_text(escape_text(text)) == escape_text(text)


@given(st.text())
def test_a_shown_line_is_one_line(text: str) -> None:
    assert len(escape_line(text).splitlines()) <= 1
