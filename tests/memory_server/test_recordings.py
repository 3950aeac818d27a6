"""Recorded conversations are asked again of the program as it is, and counted by arm."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.in_hands import Asked, conversations, count_figures, is_trapped, replay
from benchmarks.in_hands_play import log_call, messages_in, run_shell
from benchmarks.layouts import read_lines
from memory_server.memory import Memory
from tests.crawler.builders import assistant, person, write_transcript

PORT = Asked("q-1", "data", "garden", "which port does the relay listen on", (("2525",),), trap="port 25 ")
NONE = Asked("q-2", "data", "", "what does the zeppelin cost", ())
ASKED = {one.id: one for one in (PORT, NONE)}


def row(one: Asked, arm: str, call: Any, characters: int = 9_000, *, held: bool = False) -> dict[str, Any]:
    return {"question": one.id, "arm": arm, "call": call, "characters": characters, "held": held}


def test_calls_of_the_server_are_asked_again_and_those_of_the_shell_stay_as_they_were(garden: Memory) -> None:
    recall = {"tool": "recall", "arguments": {"query": "which port does the relay listen on"}}
    rows = [
        row(PORT, "tools", recall),
        row(PORT, "grep", "grep -r 2525 ."),
        {"question": "q-1", "arm": "tools", "answer": "2525"},
    ]

    again = replay(garden, ASKED, rows)

    assert [(one["arm"], one["held"]) for one in again] == [("tools", True), ("grep", False)]
    assert again[0]["characters"] <= 2_000 and again[1]["characters"] == 9_000


def test_calls_and_characters_count_until_the_answer_was_held() -> None:
    rows = [
        row(PORT, "tools", {}, 100),
        row(PORT, "tools", {}, 200, held=True),
        row(PORT, "tools", {}, 400, held=True),
        row(NONE, "tools", {}, 70),
    ]

    found = conversations(rows, ASKED)["tools"]

    assert (found["first_call"], found["ever"]) == (0.0, 1.0)
    assert (found["calls"], found["characters"]) == ([2, 2], [300, 300])
    assert (found["absent_calls"], found["absent_characters"]) == ([1, 1], [70, 70])


@pytest.mark.parametrize(
    ("text", "trapped"),
    [
        ("port 25 is used", True),
        ("2525, no longer port 25 of old", False),
        ("port 25 is old, 2525 new", True),
        ("-", False),
    ],
)
def test_an_older_state_is_a_trap_where_the_answer_does_not_stand_before_it(text: str, trapped: bool) -> None:
    assert is_trapped(PORT, text) == trapped


def test_absence_is_said_where_an_answer_begins_so() -> None:
    found = count_figures([PORT, NONE], ["It is 2525.", "Nowhere in this memory: zeppelin."])

    assert (found["held"], found["absent_said"], found["absent_characters"]) == (1.0, 1.0, 33)


def test_a_step_is_recorded_without_its_text(tmp_path: Path) -> None:
    text = run_shell("echo 2525; echo bad >&2", tmp_path)
    log_call(tmp_path / "log.jsonl", PORT, {"arm": "grep", "call": "echo"}, text)

    [kept] = read_lines(tmp_path / "log.jsonl")

    assert text == "2525\nbad\n"
    assert kept == {"question": "q-1", "arm": "grep", "call": "echo", "characters": 9, "held": True}


def test_the_messages_of_a_transcript_are_a_line_each(tmp_path: Path) -> None:
    file = write_transcript(tmp_path, person(1, "Which\nport?"), assistant(2, "It is 2525."))

    assert list(messages_in(file)) == ["11111111:1 user: Which port?", "11111111:2 assistant: It is 2525."]
