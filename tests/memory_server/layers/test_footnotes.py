import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_server.layers.footnotes import find_footnotes, without_code_spans


def test_footnotes_are_found_with_their_lines() -> None:
    notes = find_footnotes("One.[^a] Two.[^b]\n\n[^a]: see [^b]\n[^b]: said\n")

    assert (notes.defined, notes.used) == ({"a": [2], "b": [3]}, {"a": [0], "b": [0, 2]})


def test_footnote_marks_in_code_and_escaped_ones_are_none() -> None:
    notes = find_footnotes("`[^1]` ``[^`2]`` \\[^3]\n\n```\n[^4]\n```\n\n    [^5]: code\n")

    assert (notes.defined, notes.used) == ({}, {})


@pytest.mark.parametrize(
    ("line", "bare"),
    [("a `b` c", "a  c"), ("``a`b`` c", " c"), ("a ` b", "a  b"), ("`a``b`", ""), ("```", ""), ("a", "a")],
)
def test_code_spans_end_with_as_many_backticks_as_they_began(line: str, bare: str) -> None:
    assert without_code_spans(line) == bare


@given(st.text(st.sampled_from("`a[^1]"), max_size=60))
def test_a_line_without_backticks_is_left_alone_and_nothing_is_added(line: str) -> None:
    bare = without_code_spans(line)

    assert "`" not in bare
    assert bare == line or "`" in line
    assert len(bare) <= len(line)
