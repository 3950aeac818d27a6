"""A citation is verified only if its words stand at that path and line."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawler.archived import ArchivedSessions
from memory_server.document import Layer, SourcePath
from memory_server.errors import UsageError
from memory_server.root.paths import MemoryRoot
from parts.chat.citations import Citation, check_citations, find_words
from parts.chat.context import Look, build_source_reader
from parts.chat.records import Cited, ShownPassage
from tests.memories import new_root, write_topic

LINES = ("The relay listens on port 2525.", "The relay is never restarted by hand.", "")
MAIL = SourcePath("topics/mail.md")


def look(path: SourcePath, first: int, last: int) -> Sequence[str]:
    if path != MAIL:
        raise UsageError("there is no such source")
    return LINES[first - 1 : last]


PASSAGE = ShownPassage(1, MAIL, Layer.TOPIC, "Mail", ((1, LINES[0]), (2, LINES[1])))


def cited(*pieces: str | Cited, passages: Sequence[ShownPassage] = (PASSAGE,)) -> list[str | Citation]:
    """The text joined, and the citations in their places."""
    found: list[str | Citation] = []
    for piece in check_citations(pieces, passages, look):
        assert isinstance(piece, str | Citation)
        last = found[-1] if found else None
        if isinstance(piece, str) and isinstance(last, str):
            found[-1] = last + piece
        else:
            found.append(piece)
    return found


def test_words_that_stand_there_are_verified_with_their_line() -> None:
    text, citation = cited('It listens on 2525 [1: "is never restarted"]')

    assert text == "It listens on 2525 "
    assert citation == Citation("is never restarted", True, "topics/mail.md", 2, 2, "topic", True)


def test_a_quote_may_run_over_lines() -> None:
    [citation] = cited('[1: "on port 2525. The relay is"]')

    assert isinstance(citation, Citation) and citation.verified and citation.place == "topics/mail.md:1-2"


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (1, "listens on port 2526"),
        (1, "listens on port 25"),  # a part of a number
        (1, "relay listens … restarted"),
        (1, "The relay is never restarted by hand. The relay listens"),
        (1, "li\u0455tens on port 2525"),  # a Cyrillic letter
        (1, "listens on\u200b port 2525"),
        (1, "LISTENS ON PORT 2525"),
        (2, "listens on port 2525"),
        (1, "is"),
    ],
)
def test_words_that_do_not_stand_there_are_not(number: int, words: str) -> None:
    [citation] = cited(f'[{number}: "{words}"]')

    assert isinstance(citation, Citation)
    assert not citation.verified


def test_a_service_that_names_another_line_is_not_believed() -> None:
    true, false, beyond = cited(Cited(1, LINES[0], 1, 1), Cited(1, LINES[0], 2, 2), Cited(1, LINES[0], 1, 9))

    assert [one.verified for one in (true, false, beyond) if isinstance(one, Citation)] == [True, False, False]


@pytest.mark.parametrize(
    "path", ["../secret.md", "/etc/passwd", "topics/../../secret.md", "topics/link.md", "chats/a.jsonl"]
)
def test_what_is_no_source_of_the_root_is_never_looked_at(path: str, tmp_path: Path) -> None:
    root = new_root(tmp_path / "m")
    write_topic(root, "mail", LINES[0] + "\n")
    for file in (tmp_path / "secret.md", root.path / "chats" / "a.jsonl"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(LINES[0], encoding="utf-8")
    (root.topics / "link.md").symlink_to(tmp_path / "secret.md")
    passages = [
        ShownPassage(1, SourcePath(path), Layer.TOPIC, "", ((1, LINES[0]),)),
        ShownPassage(2, MAIL, Layer.TOPIC, "", ((1, LINES[0]),)),
    ]
    found = list(check_citations(['[1: "listens on port"][2: "listens on port"]'], passages, reader(root)))

    assert [one.verified for one in found if isinstance(one, Citation)] == [False, True]


@pytest.mark.parametrize("pieces", [("9999【1】, as 【1", "】 says."), ("9999", "【1】, as 【1】 says.")])
def test_a_model_cannot_put_the_mark_of_a_citation_where_it_likes(pieces: tuple[str, ...]) -> None:
    citation, text = cited('[1: "listens on port 2525"]', " So it is ", *pieces)

    assert isinstance(citation, Citation) and citation.verified and citation.mark(1) == "【1】"
    assert text == " So it is 9999[1], as [1] says."


def test_a_line_that_changed_since_it_was_shown_is_not_verified(tmp_path: Path) -> None:
    root = new_root(tmp_path / "m")
    file = write_topic(root, "mail", LINES[0] + "\n")
    pieces = ['[1: "listens on port 2525"]']
    before = list(check_citations(pieces, [PASSAGE], reader(root)))
    file.write_text("The relay listens on port 2526.\n", encoding="utf-8")
    after = list(check_citations(pieces, [PASSAGE], reader(root)))

    assert [one.verified for one in (*before, *after) if isinstance(one, Citation)] == [True, False]


def reader(root: MemoryRoot) -> Look:
    return build_source_reader(root, ArchivedSessions(root.path / "sessions" / "archive", root.sessions))


PARTS = st.sampled_from(
    [
        '[1: "listens on port 2525"]',
        '[1: "no such words"]',
        '[1: "',
        '"]',
        "[",
        "1",
        ": ",
        '"',
        "text ",
        "[12",
        "x" * 350,
    ]
)


@given(st.lists(PARTS, max_size=12), st.lists(st.integers(0, 4_000), max_size=20))
def test_a_streamed_answer_gives_the_same_as_the_whole(parts: list[str], cuts: list[int]) -> None:
    whole = "".join(parts)
    places = [0, *sorted({cut for cut in cuts if cut < len(whole)}), len(whole)]
    pieces = [whole[first:end] for first, end in pairwise(places)]

    assert cited(*pieces) == cited(whole)
    assert cited(*whole) == cited(whole)


def test_the_words_shown_are_those_of_the_memory() -> None:
    assert find_words("on  port\n2525.", LINES) == ("on port 2525.", 0, 0)
