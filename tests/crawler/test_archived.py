"""Turns as the memory sees them: what of them was said, and by whom."""

from pathlib import Path

from crawler.archived import make_archived_turn
from tests.crawler.builders import assistant, call, person, result, turns_of


def test_an_answer_to_a_tool_that_asks_is_said_by_the_person_and_other_results_by_nobody(tmp_path: Path) -> None:
    turns = turns_of(
        tmp_path,
        person(1, "Set the relay up."),
        assistant(2, call("AskUserQuestion", "c1", questions=[{"question": "Which port?"}])),
        result(3, "c1", 'The user answered: "Which port?"="2525"'),
        assistant(4, call("Bash", "c2", command="ss -lnt")),
        result(5, "c2", "LISTEN 2525"),
        assistant(6, "It listens."),
    )

    texts = [(turn.is_person, turn.spoken) for turn in map(make_archived_turn, turns)]

    assert texts == [
        (True, "Set the relay up."),
        (True, 'The user answered: "Which port?"="2525"'),
        (False, ""),
        (False, "It listens."),
    ]
