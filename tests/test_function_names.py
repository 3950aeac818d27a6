"""Functions are called by verbs."""

import pytest

from benchmarks.names import PACKAGES, ROOT, find_functions, is_verb

MOST = 0.04  # of all functions: callbacks that a library names, phrasal verbs, and `of` of a class


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


def test_functions_are_called_by_verbs() -> None:
    functions = [one for package in PACKAGES for one in find_functions(ROOT / package)]
    others = [f"{place}: {name}" for place, name in functions if not is_verb(name)]
    assert len(others) <= MOST * len(functions), "call them by verbs, see docs/style.md:\n" + "\n".join(others)
