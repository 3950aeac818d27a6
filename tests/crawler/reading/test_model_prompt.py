"""What a model is asked, and which sessions are asked about together."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.reading.model import INSTRUCTIONS, MAX_OUTPUT_TOKENS, PAGE_CHARS, build_prompt, group_pages
from crawler.reading.record import Holds, LineKind, Outcome
from crawler.transcripts.injected import is_own_session


def test_short_sessions_are_joined_and_a_long_one_stands_alone() -> None:
    pages = ["a" * 3, "b" * 3, "c" * 9, "d" * 4, "e" * 6, "f"]

    assert list(group_pages(pages, most_chars=10)) == [[0, 1], [2], [3, 4], [5]]


def test_a_session_longer_than_a_call_is_read_all_the_same() -> None:
    assert list(group_pages(["a" * 99, "b"], most_chars=10)) == [[0], [1]]
    assert list(group_pages([])) == []


@given(st.lists(st.integers(0, PAGE_CHARS + 100).map("x".__mul__), max_size=12))
def test_each_session_is_asked_about_once_in_order_and_no_call_is_too_long(pages: list[str]) -> None:
    groups = list(group_pages(pages))

    assert [place for group in groups for place in group] == list(range(len(pages)))
    assert all(len(group) == 1 or sum(len(pages[place]) for place in group) <= PAGE_CHARS for group in groups)
    assert all(len(pages[two[0]]) + sum(len(pages[p]) for p in one) > PAGE_CHARS for one, two in pairwise(groups))


def test_a_request_is_known_as_our_own_and_holds_the_sessions_as_data() -> None:
    prompt = build_prompt(["=== one", "=== two"])

    assert is_own_session(prompt.instructions)
    assert (prompt.session, prompt.max_output_tokens) == ("=== one\n\n=== two\n", MAX_OUTPUT_TOKENS)
    assert prompt.instructions == INSTRUCTIONS


def test_topics_stand_ahead_of_the_sessions_and_a_complaint_behind_the_instructions() -> None:
    prompt = build_prompt(["=== one"], "mail: Ports", "the answer is no JSON list")

    assert prompt.session == "Topics there are:\nmail: Ports\n\n=== one\n"
    assert prompt.instructions.startswith(INSTRUCTIONS)
    assert "Your last answer was refused: the answer is no JSON list." in prompt.instructions


@pytest.mark.parametrize("values", [LineKind, Holds, Outcome])
def test_the_instructions_name_every_value_that_an_answer_may_have(values: type[LineKind | Holds | Outcome]) -> None:
    assert [value for value in values if not re.search(rf"\b{value}\b", INSTRUCTIONS)] == []
