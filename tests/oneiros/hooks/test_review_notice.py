"""What a session start tells a person of proposed changes."""

import datetime as dt

import pytest

from dream.records import Hunk, Relation, State, Update
from oneiros.hooks.review import waiting_lines
from tests.dream.builders import TODAY, candidate, new_topic


def waiting(text: str, number: int, confidence: float) -> Hunk:
    made = new_topic(text, number=number)
    update = Update(candidate(text, number, confidence=confidence), Relation.NEW, made.place, made.why)
    return Hunk(f"{number:012x}", update, text, TODAY, state=State.PENDING, proposed=TODAY)


HUNKS = [
    waiting("Use pnpm.", 1, 0.7),
    waiting("The relay \x1b[31mlistens on port 2525.", 2, 0.9),
    waiting("Backups run at 03:00.", 3, 0.8),
    waiting("It needs TLS.", 4, 0.6),
]


def test_the_best_three_are_named_in_one_line_with_nothing_that_steers_a_terminal() -> None:
    [line] = waiting_lines(HUNKS, TODAY)

    assert line.startswith("Waiting for you: 4 proposed changes; `oneiros review` in a terminal of your own. ")
    assert line.endswith("The best: “The relay \\u001b[31mlistens on port 2525.”; “Backups run at 03:00.”; “Use pnpm.”")


@pytest.mark.parametrize(("days", "lines"), [(0, 1), (6, 1), (7, 1), (8, 0), (13, 0), (14, 1), (15, 0), (700, 1)])
def test_what_waits_for_long_is_told_once_a_week(days: int, lines: int) -> None:
    assert len(waiting_lines(HUNKS, TODAY + dt.timedelta(days=days))) == lines


def test_that_nothing_waits_is_told() -> None:
    assert waiting_lines([], TODAY) == ["Nothing waits for your review."]
