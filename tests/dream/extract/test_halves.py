"""Clauses that say two things, and those that only seem to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.statements.acts import clauses_in
from dream.statements.halves import halves_of


def parts_of(text: str) -> list[str]:
    """Every statement that a text is cut into."""
    return [part.text for clause in clauses_in(text) for part in halves_of(clause)]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "The relay lives in Berlin and the backup runs in Oslo.",
            ["The relay lives in Berlin", "the backup runs in Oslo."],
        ),
        ("Marta owns billing and Jonas owns the relay", ["Marta owns billing", "Jonas owns the relay"]),
        ("Use pnpm, not npm; and always run the linter.", ["Use pnpm, not npm;", "and always run the linter."]),
        ("Use pnpm for builds and never commit the lock file", ["Use pnpm for builds", "never commit the lock file"]),
        (
            "We remove the auto linking - basically one could link both",
            ["We remove the auto linking", "basically one could link both"],
        ),
        ("The tick rate is 20 Hz, rev B had 3.3 V", ["The tick rate is 20 Hz", "rev B had 3.3 V"]),
        (
            "the first part is not correct, for releases we use tags to mark the commit",
            ["the first part is not correct", "for releases we use tags to mark the commit"],
        ),
    ],
)
def test_two_sentences_of_their_own_are_cut(text: str, parts: list[str]) -> None:
    assert parts_of(text) == parts


@pytest.mark.parametrize(
    "text",
    [
        "The relay lives in Berlin and the backup in Oslo.",
        "ruff and mypy are mandatory.",
        "Whenever the tag is pushed, the job runs.",
        "In the version we use, the relay is slow.",
        "The relay is in Oslo, it is our oldest box.",
        "The relay, our oldest box, is in Oslo.",
        "The docs for ruff and mypy are in docs/tools.",
        "I saw that ruff and mypy are mandatory.",
        "It is not true that Marta owns billing and Jonas owns the relay.",
        "If the relay lived in Berlin and the backup runs in Oslo we need a tunnel.",
        "The wiki says the relay lives in Berlin and the backup runs in Oslo.",
        "Does the relay run in Berlin and the backup runs in Oslo?",
    ],
)
def test_what_leans_on_its_other_half_is_left_whole(text: str) -> None:
    assert parts_of(text) == [text]


def test_what_is_supposed_colours_both_halves() -> None:
    clauses = clauses_in("Suppose we move. Then the relay lives in Berlin and the backup runs in Oslo.")

    assert [part.act.value for part in halves_of(clauses[-1])] == ["supposes"]


def test_a_statement_too_long_ends_where_its_examples_begin() -> None:
    rule = "I would prefer that sharing is tested with several accounts"

    assert parts_of(f"{rule}, such as {'one more account and ' * 20}a last one.") == [rule]


@given(
    st.lists(st.sampled_from(["the relay runs in Oslo", "use pnpm", " and ", " - ", ", but ", "Marta owns it", "\n"]))
)
def test_every_part_is_quoted_byte_for_byte(pieces: list[str]) -> None:
    text = "".join(pieces)

    parts = [part for clause in clauses_in(text) for part in halves_of(clause)]

    assert all(text[part.first : part.end] == part.text for part in parts)
