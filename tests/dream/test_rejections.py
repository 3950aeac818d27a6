"""What was turned down stays away, until something newer is said."""

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pytest

from dream.judge.rejections import Rejections
from dream.proposals.store import ProposalStore
from dream.records import Rejection
from memory_server.document import RejectedWords
from memory_server.machine.clock import local_day
from oneiros.opening import list_rejected
from tests.dream.builders import NOW, SPOKEN_AT, candidate, quote
from tests.memories import new_root

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


def test_a_search_is_told_of_rejected_words_and_of_none_where_they_cannot_be_read(tmp_path: Path) -> None:
    root = new_root(tmp_path / "memory")
    store = ProposalStore(root)
    store.add_rejection(Rejection("0" * 12, "topics/work.md", STATEMENT, "no", NOW, (quote(STATEMENT, 1),)))
    assert list_rejected(root) == [RejectedWords(quote(STATEMENT, 1).session_id, STATEMENT, local_day(NOW))]

    (store.folder / "rejected.jsonl").write_text("{\n{\n", encoding="utf-8")

    assert list_rejected(root) == []
