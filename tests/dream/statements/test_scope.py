"""What clauses limit their values to."""

import pytest

from dream.statements.reading import are_apart, find_scope, role_of_date


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("we spent $28 in February", "we spent $43 in January"),
        ("sprint 2 has 15 stories", "Sprint 1 has 12 stories"),
        ("the quota is 20 per month", "the daily quota is 5"),
        ("revenue in Q3 was 40k", "revenue in Q2 was 30k"),
        ("the goal is 10 books", "I finished 11 books"),
    ],
)
def test_other_periods_things_and_stages_are_apart(one: str, other: str) -> None:
    assert are_apart(find_scope(one), find_scope(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("the January budget is $50", "the budget for January is $35"),
        ("the quota is 20", "the monthly quota is 10"),
        ("from March the limit is 80", "the limit in February was 50"),
        ("the call is on April 22", "the call in March takes 20 minutes"),
        ("we may use 20 connections", "in June we use 10 connections"),
        ("I spent more than the budget of $35", "the budget is $50"),
    ],
)
def test_silence_and_a_common_limit_are_not(one: str, other: str) -> None:
    assert not are_apart(find_scope(one), find_scope(other))


@pytest.mark.parametrize(
    ("clause", "role"),
    [
        ("10 books by March 1", "deadline"),
        ("the deadline is March 1", "deadline"),
        ("11 books on March 1", "day"),
        ("moved to March 1", ""),
    ],
)
def test_a_date_is_a_deadline_or_a_day(clause: str, role: str) -> None:
    assert role_of_date(clause, clause.index("March 1")) == role
