"""The same said twice is found; what only looks alike is not."""

import pytest

from benchmarks.duplicates import embed_packaged
from parts.taking_over.duplicates import same_as_earlier


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use uv for installs.", "* **use uv for installs**!"),
        ("All new features must include tests in `specs/`.", "All new features should include tests in `specs/`."),
        ("Never `git add -A`.", "Don't `git add -A`."),
    ],
)
def test_the_same_words_in_another_form_are_the_same(one: str, other: str) -> None:
    assert same_as_earlier([one, other]) == [None, 0]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Run `mise run lint` for the crate.", "Run `mise run test` for the crate."),
        ("The relay listens on port 2525.", "The relay listens on port 2526."),
        ("Always mock the clock in tests.", "Never mock the clock in tests."),
        ("The API calls the worker.", "The worker calls the API."),
        ("Use tabs in Makefiles.", "Release notes are written for users."),
    ],
)
def test_another_value_command_order_or_denial_is_another_statement(one: str, other: str) -> None:
    assert same_as_earlier([one, other], embed_packaged()) == [None, None]


def test_a_third_copy_names_the_first() -> None:
    texts = ["Use uv for installs.", "Tests need no network.", "use uv for installs", "Use uv for installs"]

    assert same_as_earlier(texts) == [None, None, 0, 0]


def test_other_words_of_the_same_meaning_are_found_with_an_embedder() -> None:
    texts = ["Prefer extending the closest existing spec or E2E file before adding a new suite."]
    texts += ["Before adding a new suite, the nearest existing spec or E2E file is extended."]

    assert same_as_earlier(texts, embed_packaged()) == [None, 0]
