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
def logged_memory(memory: Memory) -> Memory:
    """A memory that was asked three questions."""
    write_topic(memory, "mail", "# Mail\n\nThe relay listens on port 2525.\n")
    write_topic(memory, "cats", "# Cats\n\nThe relay is where the grey cat sleeps.\n")
    memory.reindex()
    for query in ("relay", "zebra", "relay"):
        search_exact(memory, query)
    recall(memory, "which port does the relay listen on")
    return memory


def judge(memory: Memory, tool: Search, query: str, typed: str) -> None:
    judgement = parse_judgement(tool, query, answer_now(memory, tool, query), typed)
    assert judgement is not None
    memory.judge(judgement)


def test_each_question_is_judged_once_newest_first(logged_memory: Memory) -> None:
    assert to_judge(logged_memory, 50) == [
        (Search.RECALL, "which port does the relay listen on"),
        (Search.EXACT, "relay"),
        (Search.EXACT, "zebra"),
    ]

    judge(logged_memory, Search.EXACT, "zebra", "w")

    assert (Search.EXACT, "zebra") not in to_judge(logged_memory, 50)


def test_what_was_judged_tells_how_a_changed_memory_does(logged_memory: Memory) -> None:
    hits = answer_now(logged_memory, Search.EXACT, "relay")
    judge(logged_memory, Search.EXACT, "relay", str([hit.path for hit in hits].index(MAIL) + 1))
    judge(logged_memory, Search.EXACT, "zebra", "w")
    assert judge_now(logged_memory).among == 1 and judge_now(logged_memory).silent == 1

    (logged_memory.root.topics / "mail.md").unlink()
    write_topic(logged_memory, "cats", "# Cats\n\nThe relay is where the zebra sleeps.\n")
    logged_memory.reindex()

    assert judge_now(logged_memory) == Judged(questions=1, first=0, among=0, unanswerable=1, silent=0)


def test_what_is_missing_counts_once_it_is_shown(logged_memory: Memory) -> None:
    judge(logged_memory, Search.EXACT, "zebra", "m topics/zoo.md")
    assert judge_now(logged_memory) == Judged(1, 0, 0, 0, 0)

    write_topic(logged_memory, "zoo", "# Zoo\n\nThe zebra lives here.\n")
    logged_memory.reindex()

    assert judge_now(logged_memory) == Judged(1, 1, 1, 0, 0)


def test_what_is_missing_nobody_knows_where_is_kept_and_counts_for_nothing(logged_memory: Memory) -> None:
    judge(logged_memory, Search.EXACT, "zebra", "m")

    assert [one.verdicts for one in logged_memory.judgements()] == [{"": AnswerVerdict.MISSING}]
    assert judge_now(logged_memory) == Judged(0, 0, 0, 0, 0)


def test_a_second_word_takes_the_place_of_the_first(logged_memory: Memory) -> None:
    for typed in ("1 2", "2"):
        judge(logged_memory, Search.EXACT, "relay", typed)

    [judged] = logged_memory.judgements()

    assert sorted(judged.verdicts.values()) == [AnswerVerdict.RIGHT, AnswerVerdict.WRONG]


@pytest.mark.parametrize("typed", ["", "0", "3", "1 9", "x", "w 1", "-1", "１０", "1;2"])
def test_what_is_no_judgement_is_none(logged_memory: Memory, typed: str) -> None:
    hits = answer_now(logged_memory, Search.EXACT, "relay")

    assert parse_judgement(Search.EXACT, "relay", hits, typed) is None
