"""A person judges the answers to their own questions, at a terminal."""

import json

from tests.system.at_terminal import at_terminal
from tests.system.house import House

JUDGE = r"Right \[1, 2, w, m, s, q\]\? "


def test_answers_are_judged_at_a_terminal_and_counted_later(house: House) -> None:
    for question in ("relay", "zebra", "cat"):
        house.command("exact", question, check=False)

    seen = at_terminal(
        house, [(JUDGE, "1\n"), (JUDGE, "perhaps\n"), (JUDGE, "w\n"), (JUDGE, "q\n")], "queries", "--judge"
    )

    assert seen.code == 0 and "[1/3] exact  cat" in seen.screen and "  1  topics/cats.md:3" in seen.screen, seen
    assert "Judged questions with an answer: 1; shown first 1, among ten 1." in seen.screen
    judged = json.loads(house.command("queries", "--judged", "--json").stdout)
    assert judged == {"questions": 1, "first": 1, "among": 1, "unanswerable": 1, "silent": 1}
    assert house.command("queries", "--judge", check=False).returncode == 2
