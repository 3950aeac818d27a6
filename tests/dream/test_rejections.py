"""What was turned down stays away, until something newer is said."""

import datetime as dt
from collections.abc import Iterator

import pytest

from dream.judge.rejections import Rejections
from dream.records import Rejection
from tests.dream.builders import NOW, SPOKEN_AT, candidate, quote

STATEMENT = "Always run the tests before a commit."


@pytest.fixture
def known() -> Iterator[Rejections]:
    rejection = Rejection("0" * 12, "topics/work.md", STATEMENT, "no", NOW, (quote(STATEMENT, 1),))
    rejections = Rejections([rejection])
    yield rejections
    rejections.close()


@pytest.mark.parametrize(
    ("text", "is_known"),
    [
        (STATEMENT, True),
        ("Always run tests before committing.", True),
        ("Before a commit, always run the tests", True),
        ("Never run the tests before a commit.", False),
        ("Always run the tests of port 2525 before a commit.", False),
        ("Always write the changelog before a release.", False),
    ],
)
def test_the_same_meaning_from_an_older_moment_is_known(known: Rejections, text: str, is_known: bool) -> None:
    assert known.knows(candidate(text, 7)) is is_known


def test_the_same_meaning_said_after_the_no_is_new_evidence(known: Rejections) -> None:
    later = quote(STATEMENT, 9, time=NOW + dt.timedelta(days=1))

    assert not known.knows(candidate(STATEMENT, 9, later))


def test_the_same_words_are_known_in_whatever_wording(known: Rejections) -> None:
    part = quote("run the tests", 1, first=7, end=20, time=SPOKEN_AT)

    assert known.knows(candidate("Tests are run.", 1, part))
