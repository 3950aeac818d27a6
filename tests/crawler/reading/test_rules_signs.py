"""Every row of the table of signs says what it says, and is used."""

from typing import get_args

import pytest

from crawler.compress import candidates, typed
from crawler.reading.record import LineKind
from crawler.reading.rules import PERSON, SIGNS, Sign, Use, bears, find_signs


def by_id(sign: Sign) -> str:
    return sign.id


@pytest.mark.parametrize("sign", SIGNS, ids=by_id)
def test_the_example_of_a_sign_bears_it_and_its_counter_does_not(sign: Sign) -> None:
    assert bears(sign.example, sign.id)
    assert not bears(sign.counter, sign.id)


@pytest.mark.parametrize("sign", SIGNS, ids=by_id)
def test_a_sign_is_found_in_what_it_is_used_for_and_there_alone(sign: Sign) -> None:
    found = {use: [one.id for one, _ in find_signs(sign.example, use, is_persons=True)] for use in get_args(Use)}

    assert [use for use, ids in found.items() if sign.id in ids] == [sign.use]


@pytest.mark.parametrize("sign", SIGNS, ids=by_id)
def test_what_the_person_alone_may_bear_is_not_found_with_others(sign: Sign) -> None:
    found = [one.id for one, _ in find_signs(sign.example, sign.use, is_persons=False)]

    assert (sign.id in found) is (sign.speaker != PERSON)


def test_no_two_signs_have_one_name() -> None:
    assert len({sign.id for sign in SIGNS}) == len(SIGNS)
    assert {sign.use for sign in SIGNS} == set(get_args(Use))
    assert {sign.speaker for sign in SIGNS} == {PERSON, "anybody"}


def test_each_kind_is_one_that_its_use_knows() -> None:
    """A kind that nobody looks for would be a row without use."""
    named = {"narrates", "gives a reason"}  # looked for by their names
    known: dict[str, set[str]] = {
        "offer": {*LineKind},
        "veto": {""},
        "lines": {"preference", "decision", "lesson", "idea", "fact"},  # the branches of `typed.py`
        "digest": {*candidates.SECTIONS},
    }

    assert [sign.id for sign in SIGNS if sign.kind not in known[sign.use] and sign.id not in named] == []
    assert {"idea" if kind == "skill_idea" else kind for kind in typed.LineType} >= known["lines"]


def test_a_sign_is_told_with_the_words_that_bear_it() -> None:
    [(sign, match)] = find_signs("From now on use pnpm.", "offer", is_persons=True)

    assert (sign.id, match[0]) == ("for good", "From now on")
