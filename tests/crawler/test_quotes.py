"""Quotes as a model gives them: other in form they are found, other in words they are not."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.quotes import find_quote, session_turns, with_agreement
from crawler.transcripts.entry import PartKind
from crawler.transcripts.turns import Role, Turn
from tests.crawler.builders import SESSION, assistant, entry_id, person
from tests.crawler.reading.builders import NOON, quoted, session_of, session_saying

WORDS = st.lists(st.from_regex(r"[a-z]{2,8}(?:['-][a-z]{2,6})?", fullmatch=True), min_size=3, max_size=9)
MARKS = {"'": "’‘'", "-": "-–—"}  # of which each stands for the others


@st.composite
def draw_quote(draw: st.DrawFn) -> tuple[str, str]:
    """Words as they were said, and the same in another form."""
    words = draw(WORDS)
    spaces = st.sampled_from([" ", "  ", "\n", "\n> ", "\t", " \n\n  "])
    text = "".join(word + draw(spaces) for word in words[:-1]) + words[-1]
    forms = []
    for word in words:
        form = "".join(draw(st.sampled_from(MARKS.get(char, char))) for char in word)
        form = draw(st.sampled_from([form, form.upper(), form.title(), f"**{form}**", f"`{form}`", f"_{form}_"]))
        forms.append(form)
    around = draw(st.sampled_from(["{}", '"{}"', "“{}”", "`{}`", " {} \n"]))
    return text, around.format(draw(st.sampled_from([" ", "\n", "   "])).join(forms))


@given(draw_quote(), st.sampled_from(["", "Well: ", "One, two.\n"]), st.sampled_from(["", " And so on.", "\nEnd"]))
def test_other_white_space_marks_case_and_markdown_lead_to_the_archives_own_characters(
    pair: tuple[str, str], before: str, behind: str
) -> None:
    said, told = pair
    session = session_saying(before + said + behind)

    quote = find_quote(session, entry_id(1)[:8], told)

    assert quote is not None
    assert quote.text == session.turns[0].text[quote.first : quote.end]
    assert quote.text == said
    assert (quote.entry, quote.role, quote.time) == (entry_id(1), Role.PERSON, NOON)


@given(WORDS, st.data())
def test_a_changed_word_is_not_found(words: list[str], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(words) - 1))
    changed = [*words[:place], "zq" + words[place][::-1] + "qz", *words[place + 1 :]]

    assert find_quote(session_saying(" ".join(words)), entry_id(1), " ".join(changed)) is None


@given(WORDS, st.data())
def test_a_word_put_in_is_not_found_and_one_left_out_is_not_passed_over(words: list[str], data: st.DataObject) -> None:
    place = data.draw(st.integers(1, len(words) - 1))
    session = session_saying(" ".join(words))

    assert find_quote(session, entry_id(1), " ".join([*words[:place], "zqzq", *words[place:]])) is None
    ends = session_saying(" ".join(["11", *words, "22"]))
    assert find_quote(ends, entry_id(1), f"11 {words[-1]} 22") is None


def test_words_that_stand_once_are_found_under_a_wrong_entry_and_words_that_stand_twice_are_not() -> None:
    session = session_saying("Use pnpm here.", "Use tabs here.", "Please: Use tabs here.")

    once, twice = find_quote(session, entry_id(3), "use pnpm"), find_quote(session, "ffffffff", "use tabs")

    assert once is not None and once.entry == entry_id(1)
    assert twice is None
    named = find_quote(session, entry_id(2)[:8], "use tabs")
    assert named is not None and named.entry == entry_id(2)


def test_of_a_quote_across_what_was_left_out_its_longest_part_is_taken() -> None:
    session = session_saying("Please use pnpm for the web shop and nothing else, since the lock file is of pnpm.")

    quote = find_quote(session, entry_id(1), "Please … use pnpm for the web shop ... pnpm.")

    assert quote is not None and quote.text == "use pnpm for the web shop"


@pytest.mark.parametrize("words", ["", " ", "…", "y", '"`*_"', "..."])
def test_nothing_and_next_to_nothing_is_no_quote(words: str) -> None:
    assert find_quote(session_saying("y yes … ... *_ "), entry_id(1), words) is None


def test_what_a_tool_returned_is_not_quoted(tmp_path: Path) -> None:
    turns = [
        Turn(Role.TOOL, PartKind.RESULT, "Always use tabs.", (entry_id(1),), NOON, tool="Read"),
        Turn(Role.SUB_AGENT, PartKind.TEXT, "Always use spaces.", (entry_id(2),), NOON, agent="a1"),
    ]
    session = session_turns(SESSION, "shop", turns)

    assert find_quote(session, entry_id(1), "Always use tabs.") is None
    assert find_quote(session, entry_id(2), "Always use spaces.") is None


@pytest.mark.parametrize(("reply", "roles"), [("Yes, do that.", 2), ("No, use 443.", 1), ("And the docs?", 1)])
def test_behind_the_assistants_words_stands_the_yes_that_took_them(tmp_path: Path, reply: str, roles: int) -> None:
    session = session_of(
        tmp_path, person(1, "Which port?"), assistant(2, "I suggest that the relay listens on 2525."), person(3, reply)
    )

    quotes = with_agreement(session, [quoted(session, "the relay listens on 2525")])

    assert [quote.role for quote in quotes] == [Role.ASSISTANT, Role.PERSON][:roles]
    assert quotes[-1].text == (reply if roles == 2 else "the relay listens on 2525")


def test_a_part_of_a_word_is_not_found() -> None:
    session = session_saying("We are unable to deploy.")

    assert find_quote(session, entry_id(1), "able to deploy") is None
    assert find_quote(session, entry_id(1), "ABLE TO") is None
    assert find_quote(session, entry_id(1), "to deploy") is not None
