"""The precedence rule as a table: which hit comes first, which decides, which is replaced."""

import datetime as dt
from dataclasses import replace

import pytest

from memory_server.document import Answer, ChunkId, Hit, Layer, LineRange, RejectedWords, SourcePath, raw_path
from memory_server.memory import Memory
from memory_server.search.precedence import mark_rejected, says_enough, with_precedence, with_topic
from tests.memories import names, recall


def hit(name: str, layer: Layer, day: int | None = None) -> Hit:
    date = dt.date(2026, 1, day) if day else None
    path = SourcePath(f"{layer}/{name}.md")
    return Hit(ChunkId(name), f"about {name[0]}", path, LineRange(1, 1), layer, name, date, score=0.5)


def alike(first: Hit, second: Hit) -> bool:
    """Hits whose names begin with the same letter answer the same thing."""
    return first.title[0] == second.title[0]


T, S, R = Layer.TOPIC, Layer.SESSION, Layer.REFERENCE


@pytest.mark.parametrize(
    ("hits", "expected"),
    [
        ([], []),
        ([hit("a", S, 1)], ["a"]),
        ([hit("a1", S, 1), hit("a2", T, 2)], ["a2 decides", "a1 replaced by topic/a2.md"]),
        ([hit("a1", S, 3), hit("a2", T, 2)], ["a2 decides", "a1"]),
        ([hit("a1", S), hit("a2", T, 2)], ["a2 decides", "a1"]),
        ([hit("a1", S, 2), hit("a2", T, 2)], ["a2 decides", "a1 replaced by topic/a2.md"]),
        ([hit("a1", S, 1), hit("b1", T, 2)], ["a1", "b1"]),
        ([hit("b1", S, 1), hit("a1", S, 1), hit("a2", T, 2)], ["b1", "a2 decides", "a1 replaced by topic/a2.md"]),
        (
            [hit("a1", R, 1), hit("a2", S, 2), hit("a3", T, 3)],
            ["a3 decides", "a1 replaced by topic/a3.md", "a2 replaced by topic/a3.md"],
        ),
        ([hit("a1", T, 1), hit("a2", T, 2)], ["a1", "a2"]),
    ],
)
def test_the_higher_layer_comes_first_where_two_answer_the_same(hits: list[Hit], expected: list[str]) -> None:
    ordered = with_precedence(hits, alike, {})

    assert [describe(one) for one in ordered] == expected


def describe(one: Hit) -> str:
    replaced = f" replaced by {one.replaced_by}" if one.replaced_by else ""
    return f"{one.title}{' decides' if one.decides else ''}{replaced}"


def test_a_source_that_another_supersedes_says_so() -> None:
    (one,) = with_precedence([hit("a", T)], alike, {SourcePath("topic/a.md"): SourcePath("topic/b.md")})

    assert one.replaced_by == "topic/b.md"


def test_a_source_cannot_replace_itself() -> None:
    (one,) = with_precedence([hit("a", T)], alike, {SourcePath("topic/a.md"): SourcePath("topic/a.md")})

    assert one.replaced_by is None


def test_what_nobody_approved_neither_decides_nor_replaces() -> None:
    hits = [hit("a1", S, 1), replace(hit("a2", T, 2), unapproved=True)]

    assert [describe(one) for one in with_precedence(hits, alike, {})] == ["a1", "a2"]


def raw_hit(session: str) -> Hit:
    return replace(hit(session, Layer.RAW), path=raw_path(session))


def test_what_the_person_rejected_is_marked_where_its_session_says_it() -> None:
    words, day = "From now on, prices are stored as integer cents", dt.date(2026, 3, 2)
    passage = "you: From now on, prices\n  are stored as integer cents."
    said = replace(raw_hit("5f0c"), passage=passage)
    others = [
        replace(raw_hit("9a1b"), passage=passage),  # said anew, perhaps in another project
        replace(raw_hit("5f0c"), passage="prices"),
        replace(hit("topics/5f0c", Layer.TOPIC), passage=passage),
    ]

    marked = mark_rejected([said, *others], [RejectedWords("5f0c", words, day)])

    assert [one.rejected for one in marked] == ["2026-03-02", "", "", ""]
    assert mark_rejected([said, *others], []) == (said, *others)


def test_a_topic_that_answers_stands_above_every_session_and_decides(garden: Memory) -> None:
    best = recall(garden, "after how many cups is the coffee machine descaled").hits[0]

    assert (best.title, best.decides) == ("Kitchen", True)


def test_a_topic_that_shares_words_leaves_what_a_session_said_where_it_is(garden: Memory) -> None:
    answer = recall(garden, "why was the dashboard slow when panels asked for a year of data")

    assert answer.hits[0].layer is S
    assert "metrics" in names(answer)
    assert not any(one.decides for one in answer.hits)


@pytest.mark.parametrize("text", ["why was the dashboard slow", "a cat on a heater", "which port does the relay use"])
def test_where_nothing_but_topics_answers_their_order_stands(garden: Memory, text: str) -> None:
    scores = [hit.score for hit in recall(garden, f"layer:topic {text}").hits]

    assert scores == sorted(scores, reverse=True)


def test_a_topic_is_put_first_and_names_its_other_lines() -> None:
    other = replace(hit("a", T), lines=LineRange(5, 6), more_lines=(LineRange(8, 9), LineRange(1, 1)))
    answer = Answer((hit("b", S), other, hit("c", S)))

    found = with_topic(answer, hit("a", T), per_source=1, limit=2)

    assert [one.title for one in found.hits] == ["a", "b"]
    assert found.hits[0].more_lines == (LineRange(5, 6), LineRange(8, 9))


@pytest.mark.parametrize(("tokens", "of_session", "expected"), [(0.9, 0.0, True), (0.7, 0.0, False), (0.9, 1.0, False)])
def test_a_topic_answers_by_its_token_match_beyond_what_a_session_scores(
    tokens: float, of_session: float, expected: bool
) -> None:
    session = replace(hit("a", S), parts={"tokens": of_session})

    assert says_enough({"tokens": tokens}, [session]) is expected
