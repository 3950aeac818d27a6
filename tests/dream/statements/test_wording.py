"""How words of a person become a sentence of a topic."""

import pytest

from dream.statements.wording import statement_of


@pytest.mark.parametrize(
    ("said", "statement"),
    [
        ("so um, the the relay should uh always log to stderr", "The relay should always log to stderr."),
        ("we we never, you know, push to main", "We never push to main."),
        ("erm is a package of ours", "Is a package of ours."),
        ("the log is at /var/log/um/out and it is is kept", "The log is at /var/log/um/out and it is kept."),
        ("make sure you know that that is what we keep", "Make sure you know that that is what we keep."),
    ],
)
def test_what_was_dictated_loses_its_fillers_and_repeats(said: str, statement: str) -> None:
    assert statement_of(said, None) == statement
