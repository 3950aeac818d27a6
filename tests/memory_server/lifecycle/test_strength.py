import datetime as dt
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_server.document import SourcePath
from memory_server.errors import UsageError
from memory_server.lifecycle.aliveness import parse_half_lives, strength
from memory_server.lifecycle.use import Access
from memory_server.memory import Memory
from tests.memories import write_topic

DAY = dt.date(2026, 3, 1)
DAYS = st.dates(dt.date(2024, 1, 1), DAY)


def ago(days: int) -> dt.date:
    return DAY - dt.timedelta(days=days)


def test_a_source_is_half_alive_on_its_first_day() -> None:
    assert strength(DAY, [], DAY, 7).value == 0.5


@pytest.mark.parametrize(("half_life", "days"), [(7, 18), (14, 37), (30, 79)])
def test_what_is_not_used_falls_below_a_tenth_by_the_half_life_of_its_type(half_life: float, days: int) -> None:
    assert strength(ago(days), [], DAY, half_life).value > 0.1 > strength(ago(days + 1), [], DAY, half_life).value


@given(DAYS, st.lists(st.builds(Access, DAYS, st.integers(1, 9)), max_size=5), st.builds(Access, DAYS))
def test_another_access_never_weakens(began: dt.date, accesses: list[Access], more: Access) -> None:
    before, after = strength(began, accesses, DAY, 7).value, strength(began, [*accesses, more], DAY, 7).value

    assert 0 < before < after < 1


@given(DAYS, st.lists(st.builds(Access, DAYS), max_size=5), st.integers(0, 1_000))
def test_a_day_later_nothing_is_stronger(began: dt.date, accesses: list[Access], days: int) -> None:
    later = DAY + dt.timedelta(days=days)

    assert strength(began, accesses, later, 7).value <= strength(began, accesses, DAY, 7).value


def test_citations_and_a_persons_word_are_floors_that_it_says() -> None:
    cited, kept = strength(ago(900), [], DAY, 7, citations=2), strength(ago(900), [], DAY, 7, is_kept=True)

    assert (cited.value, cited.reasons) == (0.5, ("known for 900 days", "never used", "cited 2 times"))
    assert (kept.value, kept.reasons[-1]) == (1.0, "kept by you")


def test_half_lives_are_set_by_type() -> None:
    assert parse_half_lives(["episodic=14"]) == {"semantic": 30, "procedural": 14, "episodic": 14}


@pytest.mark.parametrize("setting", ["episodic", "episodic=0", "episodic=x", "dreams=3"])
def test_a_half_life_that_is_none_is_named(setting: str) -> None:
    with pytest.raises(UsageError, match="half_lives"):
        parse_half_lives([setting])


@pytest.mark.parametrize(
    ("decay", "value"),
    [
        ({}, 0.2),  # semantic: one half-life of 30 days
        ({"half_life": "P90D"}, 1 / 3),
        ({"halfLife": "P1D"}, 1 / 92),
        ({"model": "none", "half_life": "P1D"}, 0.5),
        ({"strength": 0.5}, 0.1),
        ({"half_life": "P0D", "strength": 7}, 0.2),  # neither can be read
    ],
)
def test_a_topic_fades_by_the_half_life_and_strength_of_its_frontmatter(
    memory: Memory, decay: dict[str, object], value: float
) -> None:
    head = {"type": "semantic", "created": memory.today, "temporal": {"decay": decay}}
    write_topic(memory, "relay", "# Relay\n\nIt listens on port 2525.\n", **head)
    memory.reindex()
    memory.use.count_found("which port", ["topics/relay.md"])  # use is known from now on

    person, day = replace(memory.person, query_log=True), memory.today + dt.timedelta(days=30)
    later = replace(memory.aging(), today=day, person=person)

    path = SourcePath("topics/relay.md")
    assert later.measure_use([path])[path]["strength"] == pytest.approx(value)
