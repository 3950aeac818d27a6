"""Recall filtered by what the recorder says of a session's lines."""

import pytest

from memory_server.errors import UsageError
from memory_server.index.digest import DigestStore, TypedLine
from memory_server.memory import Memory
from tests.memories import recall, write_session

SESSION = "a1b2c3d4-0000-4000-8000-000000000000"
OPEN = "ffffffff-0000-4000-8000-000000000000"


def line(session: str, ordinal: int, kind: str, text: str, project: str = "shop") -> TypedLine:
    return TypedLine(session, ordinal, kind, text, "because", project, ("e1",))


def record(memory: Memory) -> None:
    decided, failed = "We decided to keep orders in PostgreSQL.", "The PostgreSQL pool was too small for the orders."
    write_session(memory, "2026-02-01-orders-a1b2c3d4", decided, failed, project="shop")
    memory.reindex()
    lines = [line(SESSION, 0, "decision", decided), line(SESSION, 1, "lesson", failed)]
    memory.digest.replace(SESSION, "1", "shop", lines)
    memory.digest.replace(OPEN, "1", "post", [line(OPEN, 0, "decision", "Orders go out by post on Mondays.", "post")])


def test_recall_of_a_type_gives_the_passages_of_that_type(memory: Memory) -> None:
    record(memory)

    lessons = recall(memory, "where do we keep orders in PostgreSQL", types=["lesson"])
    decisions = recall(memory, "where do we keep orders in PostgreSQL", types=["decision"], project="shop")

    assert [hit.passage.strip("- ") for hit in lessons.hits] == ["The PostgreSQL pool was too small for the orders."]
    assert [hit.passage.strip("- ") for hit in decisions.hits] == ["We decided to keep orders in PostgreSQL."]


def test_a_session_that_goes_on_is_found_by_its_lines(memory: Memory) -> None:
    record(memory)

    answer = recall(memory, "orders by post", types=["decision"], project="post")

    assert [hit.path for hit in answer.hits] == [f"sessions/archive/{OPEN}"]


def test_lines_obey_the_projects_of_the_query_and_no_filter_that_they_cannot_know(memory: Memory) -> None:
    record(memory)

    def found(query: str) -> list[str]:
        return [hit.path for hit in recall(memory, query, types=["decision"]).hits]

    assert found("orders by post project:POST") == [f"sessions/archive/{OPEN}"]
    assert found("orders by post project:nowhere") == []
    assert found("orders by post after:2031-01-01") == []
    assert found("orders by post machine:laptop") == []


@pytest.mark.parametrize(
    "query", ['orders "by post', 'orders by post 5" wide', "orders by post" + " and so on" * 1_000]
)
def test_no_question_loosens_the_project_that_is_asked_for(memory: Memory, query: str) -> None:
    record(memory)

    for types in ((), ("decision",)):
        assert recall(memory, query, project="nowhere", types=types).hits == ()
        found = [hit.path for hit in recall(memory, query, project="shop", types=types).hits]
        assert found in ([], ["sessions/compressed/2026/2026-02-01-orders-a1b2c3d4.md"])


def test_a_type_that_there_is_not_is_an_error_and_one_without_lines_says_so(memory: Memory) -> None:
    record(memory)

    with pytest.raises(UsageError):
        recall(memory, "orders", types=["opinion"])
    assert "without a type" in recall(memory, "orders", types=["skill_idea"]).note


def test_lines_are_replaced_a_session_at_a_time_and_forgotten_with_it(memory: Memory) -> None:
    record(memory)
    memory.digest.replace(SESSION, "2", "shop", [line(SESSION, 0, "fact", "Orders are numbered.")])

    assert memory.digest.marks() == {SESSION: "2", OPEN: "1"}
    assert [one.type for one in memory.digest.of_session("a1b2c3d4")] == ["fact"]
    memory.digest.remove(SESSION)
    assert memory.digest.find(["numbered"], "", (), 5) == []


def test_any_words_can_be_asked_for(memory: Memory) -> None:
    store: DigestStore = memory.digest

    assert store.find(['a"b', "OR", "NEAR(", "*", "\u202e"], "", (), 5) == []
