"""Where a question names a time, passages of that time stand before others that say the same."""

import datetime as dt
from pathlib import Path

import pytest

from memory_server.document import Certainty
from memory_server.language.times import time_alone
from memory_server.memory import Memory
from tests.memories import new_root, open_memory, recall, write_session, write_topic
from tests.states import WordEngine

MONTHS = ("2026-03-04", "2026-05-06", "2026-10-07")


def memory_of_months(tmp_path: Path) -> Memory:
    """Three sessions that say the same in three months, and others, so that words tell something apart."""
    root = new_root(tmp_path / "memory")
    for place, day in enumerate(MONTHS):
        write_session(root, f"{day}-x-aaaaaaa{place}", "The robot moved the invoice of the shop.")
    write_session(root, "2026-02-18-z-ccccccc0", "The gate of the yard was painted.")
    for place in range(40):
        write_session(root, f"2026-01-{place % 28 + 1:02}-y-bbbbbb{place:02}", f"The relay has port {place}.")
    return open_memory(root, WordEngine)


def test_a_session_of_the_month_that_is_named_comes_first(tmp_path: Path) -> None:
    with memory_of_months(tmp_path) as memory:
        memory.reindex()
        for month, day in zip(("March", "May", "October"), MONTHS, strict=True):
            first = recall(memory, f"what did the robot do with the invoice in {month}").hits[0]

            assert first.path.rpartition("/")[2].startswith(day)
            assert "time" in {reason.arm for reason in first.why}


@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("what did I do last week", ["2026-02-18"]),
        ("What happened in October 2026?", ["2026-10-07"]),
        ("what did we work on on 6 May", ["2026-05-06"]),
        ("sessions of 2026-03", ["2026-03-04"]),
        ("what have I been working on this year", ["2026-02-18", "2026-01-28", "2026-01-27", "2026-01-26"]),
        ("show me what's happened in the last 11 days", ["2026-02-18"]),
    ],
)
def test_a_question_for_nothing_but_a_time_lists_its_sessions(tmp_path: Path, question: str, days: list[str]) -> None:
    with memory_of_months(tmp_path) as memory:
        memory.reindex()
        found = recall(memory, question)

    assert [hit.path.rpartition("/")[2][:10] for hit in found.hits][:4] == days
    assert {hit.certainty for hit in found.hits} == {Certainty.SURE}
    assert {reason.arm for hit in found.hits for reason in hit.why} == {"time"}


def test_a_topic_that_answers_stands_above_the_sessions_of_the_time(tmp_path: Path) -> None:
    with memory_of_months(tmp_path) as memory:
        write_topic(memory, "october", "What happened in October 2026: the relay moved to Oslo.")
        memory.reindex()
        found = recall(memory, "what happened in October 2026").hits

    assert [hit.path.rpartition("/")[2][:10] for hit in found] == ["october.md", "2026-10-07"]
    assert found[0].decides


@pytest.mark.parametrize(
    ("question", "note"),
    [
        ("what did I do yesterday", "This memory has no session of that time."),
        ("what did I do yesterday project:other", "No source has a project."),
        ("why is the soup cold", "Nothing in this memory answers that."),
    ],
)
def test_a_time_without_sessions_is_told_as_such(tmp_path: Path, question: str, note: str) -> None:
    with memory_of_months(tmp_path) as memory:
        memory.reindex()
        found = recall(memory, question)

    assert (found.hits, found.note[: len(note)]) == ((), note)


@pytest.mark.parametrize("question", ["what did the robot do last week", "what did I do last week project:other"])
def test_what_asks_for_more_than_a_time_is_searched(tmp_path: Path, question: str) -> None:
    with memory_of_months(tmp_path) as memory:
        memory.reindex()

        assert "time" not in {reason.arm for hit in recall(memory, question).hits for reason in hit.why}


@pytest.mark.parametrize(
    ("words", "first", "last"),
    [
        ("today", "2026-03-01", "2026-03-01"),
        ("yesterday", "2026-02-28", "2026-02-28"),
        ("this week", "2026-02-23", "2026-03-01"),
        ("last week", "2026-02-16", "2026-02-22"),
        ("last month", "2026-02-01", "2026-02-28"),
        ("last year", "2025-01-01", "2025-12-31"),
        ("the past two weeks", "2026-02-15", "2026-03-01"),
        ("in February", "2026-02-01", "2026-02-28"),
        ("this morning", "2026-03-01", "2026-03-01"),
        ("tonight", "2026-03-01", "2026-03-01"),
        ("last night", "2026-02-28", "2026-03-01"),
        ("yesterday evening", "2026-02-28", "2026-02-28"),
        ("the day before yesterday", "2026-02-27", "2026-02-27"),
        ("on Monday", "2026-02-23", "2026-02-23"),
        ("on sunday", "2026-03-01", "2026-03-01"),
        ("last Sunday", "2026-02-22", "2026-02-22"),
        ("on the weekend", "2026-02-28", "2026-03-01"),
        ("last weekend", "2026-02-21", "2026-02-22"),
        ("3 days ago", "2026-02-26", "2026-02-26"),
        ("a week ago", "2026-02-16", "2026-02-22"),
        ("two months ago", "2026-01-01", "2026-01-31"),
        ("in the last 3 months", "2025-12-01", "2026-03-01"),
        ("in week 8", "2026-02-16", "2026-02-22"),
        ("in 2026-W08", "2026-02-16", "2026-02-22"),
        ("since Thursday", "2026-02-26", "2026-03-01"),
        ("since January", "2026-01-01", "2026-03-01"),
        ("since 2026-02-20", "2026-02-20", "2026-03-01"),
        ("after 2026-02-20", "2026-02-21", "2026-03-01"),
        ("between Monday and Wednesday", "2026-02-23", "2026-02-25"),
        ("from 2026-02-03 to 2026-02-05", "2026-02-03", "2026-02-05"),
    ],
)
def test_a_time_that_counts_from_today_has_its_days(words: str, first: str, last: str) -> None:
    is_of = time_alone(f"what did I do {words}?", dt.date(2026, 3, 1))  # a Sunday

    assert is_of is not None
    days = [dt.date.fromisoformat(day) for day in (first, last)]
    around = [days[0] - dt.timedelta(days=1), *days, days[1] + dt.timedelta(days=1)]
    assert [is_of(day) for day in around] == [False, True, True, False]


def test_a_time_before_another_ends_on_the_day_before_it() -> None:
    is_of = time_alone("what did I do before Monday", dt.date(2026, 3, 1))

    assert is_of is not None
    assert [is_of(dt.date(2026, 2, day)) for day in (1, 22, 23)] == [True, True, False]


def test_a_question_that_names_no_time_has_no_such_part(tmp_path: Path) -> None:
    with memory_of_months(tmp_path) as memory:
        memory.reindex()
        hits = recall(memory, "what did the robot do with the invoice").hits

        assert hits and all("time" not in hit.parts for hit in hits)
