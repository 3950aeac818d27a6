"""Functions are called by verbs."""

import pytest

from benchmarks.names import is_verb


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("split_words", True),
        ("_read", True),
        ("embed", True),
        ("told", False),
        ("_shown", False),
        ("joined", False),
        ("words_of", False),
        ("covered_at", False),
        ("of", False),
    ],
)
def test_a_participle_and_what_ends_in_a_preposition_are_no_verbs(name: str, *, expected: bool) -> None:
    assert is_verb(name) == expected
