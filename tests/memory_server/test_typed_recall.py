"""Recall filtered by what the recorder says of a session's lines."""

import datetime as dt
from dataclasses import replace

import pytest

from memory_server.document import Certainty, Layer, Reason
from memory_server.errors import UsageError
from memory_server.index.typed_lines import TypedLine, TypedLines
from memory_server.memory import Memory
from tests.garden import write_garden
from tests.memories import recall, write_session, write_topic

SESSION = "a1b2c3d4-0000-4000-8000-000000000000"
OPEN = "ffffffff-0000-4000-8000-000000000000"


def line(session: str, ordinal: int, kind: str, text: str, project: str = "shop") -> TypedLine:
    return TypedLine(session, ordinal, kind, text, "because", project, ("e1",))


def record(memory: Memory) -> None:
    decided, failed = "We decided to keep orders in PostgreSQL.", "The PostgreSQL pool was too small for the orders."
    write_session(memory, "2026-02-01-orders-a1b2c3d4", decided, failed, project="shop")
    memory.reindex()
    lines = [line(SESSION, 0, "decision", decided), line(SESSION, 1, "lesson", failed)]
    memory.typed_lines.replace(SESSION, "1", "shop", lines)
    memory.typed_lines.replace(
        OPEN, "1", "post", [line(OPEN, 0, "decision", "Orders go out by post on Mondays.", "post")]
    )


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


def test_a_topic_that_answers_the_same_decides_over_what_a_session_decided(memory: Memory) -> None:
    record(memory)
    write_topic(memory, "orders", "We keep the orders in PostgreSQL.", modified="2026-02-20")
    write_topic(memory, "cakes", "The cake for a birthday is ordered at the bakery.", modified="2026-02-20")
    memory.reindex()

    topic, session = recall(memory, "where do we keep orders in PostgreSQL", types=["decision"], project="shop").hits

    assert (topic.path, topic.decides) == ("topics/orders.md", True)
    assert (session.type, session.replaced_by) == ("decision", "topics/orders.md")
    assert recall(memory, "keep orders layer:session", types=["decision"]).hits[0].layer is Layer.SESSION


def test_a_topic_that_is_merely_like_a_line_neither_decides_nor_hides_it(memory: Memory) -> None:
    """Asked for the database of the orders, recall was sure of the search engine."""
    record(memory)
    write_topic(memory, "search", "The product catalogue is kept in the search engine Typesense, not in a database.")
    memory.reindex()

    hits = recall(memory, "which database do we keep the orders in", types=["decision"]).hits

    assert ["PostgreSQL" in hit.passage for hit in hits].count(True) == 1
    assert not any(hit.decides or hit.certainty is Certainty.SURE for hit in hits)


def test_a_topic_of_another_project_decides_nothing(memory: Memory) -> None:
    record(memory)
    write_topic(memory, "orders", "We keep the orders in PostgreSQL.", modified="2026-02-20", project="post")
    memory.reindex()

    (session,) = recall(memory, "where do we keep orders", types=["decision"], project="shop").hits

    assert session.replaced_by is None


def test_a_line_that_only_its_words_find_is_shown_as_its_passage_with_what_replaces_it(memory: Memory) -> None:
    write_garden(memory.root)
    text = "We decided that Wombat the printer stays where it is."
    write_session(memory, "2026-02-01-printer-a1b2c3d4", text)
    write_topic(memory, "wombat", "Wombat the printer stays where it is, we decided.", modified="2026-02-20")
    memory.reindex()
    memory.typed_lines.replace(SESSION, "1", "shop", [line(SESSION, 0, "decision", text)])

    silent = recall(memory, "which opera has a wombat in Casablanca tonight layer:session")
    answer = recall(memory, "which opera has a wombat in Casablanca tonight", types=["decision"])

    assert silent.hits == ()
    assert [(hit.path, hit.replaced_by) for hit in answer.hits] == [
        ("topics/wombat.md", None),
        ("sessions/compressed/2026/2026-02-01-printer-a1b2c3d4.md", "topics/wombat.md"),
    ]


def test_lines_of_several_types_are_alternatives(memory: Memory) -> None:
    record(memory)

    answer = recall(memory, "where do we keep orders in PostgreSQL", types=["lesson", "decision"], project="shop")

    assert {hit.type for hit in answer.hits} == {"lesson", "decision"}


def test_a_hit_says_what_the_recorder_says_of_it(memory: Memory) -> None:
    text, moment = "Orders are kept in PostgreSQL.", dt.datetime(2026, 2, 1, 8, 30, tzinfo=dt.UTC)
    write_session(memory, "2026-02-01-orders-a1b2c3d4", text, type="episodic", tags=["Shop"])
    memory.reindex()
    fact = replace(line(SESSION, 0, "fact", text), time=moment)

    before = recall(memory, "where are orders kept").hits[0]
    memory.typed_lines.replace(SESSION, "1", "shop", [fact])
    after = recall(memory, "where are orders kept").hits[0]

    assert (before.type, before.tags, before.time) == ("episodic", ("shop",), None)
    assert (after.type, after.tags, after.time) == ("fact", ("shop",), moment)
    assert after.why[-1] == Reason("type", "fact: because")


def test_a_type_that_there_is_not_is_an_error_and_one_without_lines_says_so(memory: Memory) -> None:
    record(memory)

    with pytest.raises(UsageError):
        recall(memory, "orders", types=["opinion"])
    assert "without a type" in recall(memory, "orders", types=["skill_idea"]).note


def test_lines_are_replaced_a_session_at_a_time_and_forgotten_with_it(memory: Memory) -> None:
    record(memory)
    memory.typed_lines.replace(SESSION, "2", "shop", [line(SESSION, 0, "fact", "Orders are numbered.")])

    assert memory.typed_lines.marks() == {SESSION: "2", OPEN: "1"}
    assert [one.type for one in memory.typed_lines.of_session("a1b2c3d4")] == ["fact"]
    memory.typed_lines.remove(SESSION)
    assert memory.typed_lines.find(["numbered"], "", (), 5) == []


def test_a_line_keeps_its_id_where_another_comes_before_it(memory: Memory) -> None:
    text = "Orders go out by post on Mondays."

    def ids(*texts: str) -> dict[str, str]:
        lines = [line(OPEN, place, "decision", one) for place, one in enumerate(texts)]
        memory.typed_lines.replace(OPEN, "1", "shop", lines)
        return {hit.passage: str(hit.chunk) for hit in recall(memory, "orders by post", types=["decision"]).hits}

    assert ids(text)[text] == ids("Orders are weighed before the post.", text)[text]


def test_any_words_can_be_asked_for(memory: Memory) -> None:
    store: TypedLines = memory.typed_lines

    assert store.find(['a"b', "OR", "NEAR(", "*", "\u202e"], "", (), 5) == []
