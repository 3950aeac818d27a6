"""What a person says of the answers to their own questions, and how the memory does by it."""

import pytest

from memory_server.document import SourcePath
from memory_server.memory import Memory
from memory_server.search.query_log import AnswerVerdict
from memory_server.search.question import Search
from parts.models.judging import Judged, answer_now, judge_now, parse_judgement, to_judge
from tests.memories import recall, search_exact, write_topic

MAIL, CATS = SourcePath("topics/mail.md"), SourcePath("topics/cats.md")


@pytest.fixture
def asked(memory: Memory) -> Memory:
    """A memory that was asked three questions."""
    write_topic(memory, "mail", "# Mail\n\nThe relay listens on port 2525.\n")
    write_topic(memory, "cats", "# Cats\n\nThe relay is where the grey cat sleeps.\n")
    memory.reindex()
    for query in ("relay", "zebra", "relay"):
        search_exact(memory, query)
    recall(memory, "which port does the relay listen on")
    return memory


def said(memory: Memory, tool: Search, query: str, typed: str) -> None:
    judgement = parse_judgement(tool, query, answer_now(memory, tool, query), typed)
    assert judgement is not None
    memory.judge(judgement)


def test_each_question_is_judged_once_newest_first(asked: Memory) -> None:
    assert to_judge(asked, 50) == [
        (Search.RECALL, "which port does the relay listen on"),
        (Search.EXACT, "relay"),
        (Search.EXACT, "zebra"),
    ]

    said(asked, Search.EXACT, "zebra", "w")

    assert (Search.EXACT, "zebra") not in to_judge(asked, 50)


def test_what_was_judged_tells_how_a_changed_memory_does(asked: Memory) -> None:
    hits = answer_now(asked, Search.EXACT, "relay")
    said(asked, Search.EXACT, "relay", str([hit.path for hit in hits].index(MAIL) + 1))
    said(asked, Search.EXACT, "zebra", "w")
    assert judge_now(asked).among == 1 and judge_now(asked).silent == 1

    (asked.root.topics / "mail.md").unlink()
    write_topic(asked, "cats", "# Cats\n\nThe relay is where the zebra sleeps.\n")
    asked.reindex()

    assert judge_now(asked) == Judged(questions=1, first=0, among=0, unanswerable=1, silent=0)


def test_what_is_missing_counts_once_it_is_shown(asked: Memory) -> None:
    said(asked, Search.EXACT, "zebra", "m topics/zoo.md")
    assert judge_now(asked) == Judged(1, 0, 0, 0, 0)

    write_topic(asked, "zoo", "# Zoo\n\nThe zebra lives here.\n")
    asked.reindex()

    assert judge_now(asked) == Judged(1, 1, 1, 0, 0)


def test_what_is_missing_nobody_knows_where_is_kept_and_counts_for_nothing(asked: Memory) -> None:
    said(asked, Search.EXACT, "zebra", "m")

    assert [one.verdicts for one in asked.judgements()] == [{"": AnswerVerdict.MISSING}]
    assert judge_now(asked) == Judged(0, 0, 0, 0, 0)


def test_a_second_word_takes_the_place_of_the_first(asked: Memory) -> None:
    for typed in ("1 2", "2"):
        said(asked, Search.EXACT, "relay", typed)

    [judged] = asked.judgements()

    assert sorted(judged.verdicts.values()) == [AnswerVerdict.RIGHT, AnswerVerdict.WRONG]


@pytest.mark.parametrize("typed", ["", "0", "3", "1 9", "x", "w 1", "-1", "１０", "1;2"])
def test_what_is_no_judgement_is_none(asked: Memory, typed: str) -> None:
    hits = answer_now(asked, Search.EXACT, "relay")

    assert parse_judgement(Search.EXACT, "relay", hits, typed) is None
