"""What takes back an older passage in so many words, and what merely speaks of the same."""

import datetime as dt
from dataclasses import replace

import pytest

from memory_server.language.cues import is_refusal
from memory_server.language.words import content_words
from memory_server.search.spoken import SpokenPassage, find_amenders, find_newer

DAY = dt.date(2026, 3, 1)
OLD = SpokenPassage(1, "shop", DAY, 4, "The payment client has a timeout of five seconds and tries three times.")
NEW = SpokenPassage(2, "shop", dt.date(2026, 4, 1), 2, "The timeout of the payment client is no longer five seconds.")
QUESTION_WORDS = content_words("which timeout has the payment client")


def amenders(*passages: SpokenPassage, alike: bool = True) -> dict[int, int]:
    return dict(find_amenders(passages, QUESTION_WORDS, lambda one, other: alike))


def test_a_later_passage_that_says_no_longer_amends_the_older_one() -> None:
    assert amenders(OLD, NEW) == {0: 1}
    assert amenders(NEW, OLD) == {1: 0}


@pytest.mark.parametrize(
    "new",
    [
        replace(NEW, date=dt.date(2026, 2, 1)),  # it is older
        replace(NEW, project="bakery"),  # a project is a border
        replace(NEW, text="The timeout of the payment client is five seconds."),  # it takes nothing back
        replace(NEW, text="The red door is no longer open."),  # of something else
    ],
)
def test_what_is_older_foreign_or_of_something_else_amends_nothing(new: SpokenPassage) -> None:
    assert amenders(OLD, new) == {}


def test_passages_that_are_not_near_in_meaning_amend_nothing() -> None:
    assert amenders(OLD, NEW, alike=False) == {}


def test_within_a_session_the_later_turn_amends_and_of_several_the_latest() -> None:
    second, third = (replace(NEW, source=1, date=DAY, turn=turn) for turn in (8, 12))

    assert amenders(OLD, second, third)[0] == 2


STATED = replace(OLD, own="The payment client has a timeout of five seconds.")
STATED_LATER = replace(NEW, own="Set the timeout of the payment client to nine seconds, please.")


def test_what_a_person_told_later_on_the_same_is_newer_whatever_its_form() -> None:
    latest = replace(STATED_LATER, source=3, date=dt.date(2026, 5, 1), own="Payment client: timeout twelve seconds.")

    assert find_newer([STATED, STATED_LATER], QUESTION_WORDS) == {0: 1}
    assert find_newer([STATED_LATER, STATED], QUESTION_WORDS) == {1: 0}
    assert find_newer([STATED, STATED_LATER, latest], QUESTION_WORDS) == {0: 2, 1: 2}


@pytest.mark.parametrize(
    "later",
    [
        replace(STATED_LATER, date=DAY),  # of the same day
        replace(STATED_LATER, source=1),  # of the same session
        replace(STATED_LATER, project="bakery"),  # a project is a border
        replace(STATED_LATER, own=STATED.own),  # the same once more
        replace(STATED_LATER, own=""),  # the assistant said it
        replace(STATED_LATER, own="The client is to be called on Monday, ask the client whether she likes it."),
        replace(STATED_LATER, own="The payment client has five seconds."),  # of what is asked less than the older one
    ],
)
def test_what_is_not_later_or_not_on_the_same_is_nothing_newer(later: SpokenPassage) -> None:
    assert find_newer([STATED, later], QUESTION_WORDS) == {}


@pytest.mark.parametrize(
    ("text", "is_no"),
    [
        ("No, not that.", True),
        ("Hmm, please don't.", True),
        ("I'd prefer the other one", True),
        ("don’t do it", True),
        ("Nobody knows", False),
        ("Yes. No doubt.", False),
        ("Not a single test fails now, commit it", False),
    ],
)
def test_an_explicit_no_begins_a_refusal(text: str, is_no: bool) -> None:
    assert is_refusal(text) == is_no
