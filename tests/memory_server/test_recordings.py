"""Recorded conversations are asked again of the program as it is, and counted by arm."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.in_hands import (
    RECORDINGS,
    Call,
    Played,
    PlayedQuestion,
    count_figures,
    count_talks,
    is_trapped,
    read_recordings,
    replay,
)
from benchmarks.in_hands_door import read_messages
from benchmarks.in_hands_play import FIRST_SHELL_CHARS, RECORDING, Recorder, deal, pack, prepare, run_shell
from benchmarks.layouts import read_lines
from memory_server.memory import Memory
from tests.crawler.builders import assistant, person, write_transcript

PORT = PlayedQuestion("q-1", "data", "garden", "which port does the relay listen on", (("2525",),), trap="port 25 ")
NONE = PlayedQuestion("q-2", "data", "", "what does the zeppelin cost", ())
QUESTIONS = {one.id: one for one in (PORT, NONE)}
RECALL = {"tool": "recall", "arguments": {"query": "which port does the relay listen on"}}


def talk(one: PlayedQuestion, answer: str, *texts: str, arm: str = "tools", grade: bool | None = None) -> Played:
    return Played(arm, one.id, tuple(Call(RECALL, text) for text in texts), answer, grade)


# -- replaying and counting -------------------------------------------------------------------------------------------


def test_calls_of_the_server_are_asked_again(garden: Memory) -> None:
    again = replay(garden, talk(PORT, "It is 2525.", "nothing of old"))

    assert "2525" in again.calls[0].text and len(again.calls[0].text) <= 2_000
    assert (again.question, again.answer) == ("q-1", "It is 2525.")


def test_what_was_spent_counts_up_to_the_answer_and_up_to_the_text_that_holds_it() -> None:
    found = count_talks([talk(PORT, "It is 2525.", "x" * 100, "2525 xxxxx", "y" * 40)], QUESTIONS)

    assert (found["right"], found["first_call"], found["ever"]) == (1.0, 0.0, 1.0)
    assert (found["calls"], found["characters"]) == ([3, 3], [150, 150])
    assert (found["calls_until_held"], found["characters_until_held"]) == ([2, 2], [110, 110])


def test_an_absent_answer_is_known_where_the_player_says_so() -> None:
    found = count_talks([talk(PORT, "2525", "2525"), talk(NONE, "NOT THERE", "x" * 70)], QUESTIONS)
    wrong = count_talks([talk(PORT, "2525", "2525"), talk(NONE, "It costs 12.", "x" * 70)], QUESTIONS)

    assert (found["absent_known"], found["calls_absent"], found["characters_absent"]) == (1.0, [1, 1], [70, 70])
    assert wrong["absent_known"] == 0.0


def test_the_grade_of_a_reader_stands_above_the_rule_of_words() -> None:
    right = [talk(PORT, "the usual one", grade=True), talk(PORT, "not 2525", grade=False), talk(PORT, "2525")]

    assert [count_talks([one], QUESTIONS)["right"] for one in right] == [1.0, 0.0, 1.0]


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


# -- playing ----------------------------------------------------------------------------------------------------------


def recorder(folder: Path, memory: Memory) -> Recorder:
    prepare(folder, [[PORT, NONE]])
    return Recorder(folder, QUESTIONS, {"data": memory}, {"data": folder})


def test_a_player_reads_what_the_server_answers_and_all_of_it_is_recorded(garden: Memory, tmp_path: Path) -> None:
    steps = recorder(tmp_path, garden)

    text = steps.step("tools-01", "q001", "recall", json.dumps(RECALL["arguments"]))
    told = steps.step("tools-01", "q001", "answer", "It is 2525.")

    assert "2525" in text and told == "q001: answer taken down"
    assert read_lines(tmp_path / "tools-01" / RECORDING) == [
        {"question": "q-1", "arm": "tools", "call": RECALL, "text": text},
        {"question": "q-1", "arm": "tools", "answer": "It is 2525."},
    ]
    assert "answered" in steps.step("tools-01", "q001", "recall", "{}")


def test_the_first_command_shows_less_than_the_others(garden: Memory, tmp_path: Path) -> None:
    steps = recorder(tmp_path, garden)

    shown = [steps.step("grep-01", "q002", "sh", "head -c 9000 /dev/zero | tr '\\0' x") for _ in range(2)]

    assert [len(text) for text in shown] == [FIRST_SHELL_CHARS, 9_000]


def test_a_step_that_cannot_be_carried_out_is_told_and_costs_nothing(garden: Memory, tmp_path: Path) -> None:
    steps = recorder(tmp_path, garden)

    assert steps.step("tools-01", "q999", "recall", "{}") == "there is no question q999"
    assert steps.step("tools-01", "q001", "recall", "{not json").startswith("the arguments are no JSON")
    assert not (tmp_path / "tools-01" / RECORDING).exists()


def test_a_player_is_told_questions_and_tools_and_nothing_of_the_answers(garden: Memory, tmp_path: Path) -> None:
    recorder(tmp_path, garden)

    tools, grep = ((tmp_path / f"{arm}-01" / "README.md").read_text(encoding="utf-8") for arm in ("tools", "grep"))

    assert PORT.text in tools and PORT.text in grep and "read_memory" in tools and "read_memory" not in grep
    assert not any(word in text for text in (tools, grep) for word in ("2525", "q-1", "{questions}", "{tools}"))


def test_what_was_played_is_packed_and_read_again(garden: Memory, tmp_path: Path) -> None:
    steps = recorder(tmp_path, garden)
    text = steps.step("tools-01", "q001", "recall", json.dumps(RECALL["arguments"]))
    steps.step("tools-01", "q001", "answer", "the usual one")
    packed = tmp_path / "packed"
    packed.mkdir()
    pack(tmp_path, packed)
    (packed / "grades.tsv").write_text("arm\tquestion\tright\twhy\ntools\tq-1\t1\tread\n", encoding="utf-8")

    assert read_recordings(packed) == [Played("tools", "q-1", (Call(RECALL, text),), "the usual one", True)]


def test_every_project_has_its_share_of_the_batches() -> None:
    many: list[Any] = [PlayedQuestion(f"a{i}", "data", "one" if i < 56 else "two", "?", (("x",),)) for i in range(112)]
    none: list[Any] = [PlayedQuestion(f"b{i}", "data", "", "?", ()) for i in range(20)]

    batches = deal([*many, *none])

    assert [len(batch) for batch in batches] == [10] * 10
    assert {sum(not one.must for one in batch) for batch in batches} == {2}
    assert sum(one.project == "one" for batch in batches for one in batch) == 40


def test_a_command_is_run_where_the_transcripts_are(tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").touch()

    assert run_shell("ls; echo bad >&2", tmp_path) == "one.jsonl\nbad\n"


def test_the_messages_of_a_transcript_are_a_line_each(tmp_path: Path) -> None:
    file = write_transcript(tmp_path, person(1, "Which\nport?"), assistant(2, "It is 2525."))

    assert list(read_messages(file)) == ["11111111:1 user: Which port?", "11111111:2 assistant: It is 2525."]
    assert "11111111:2 assistant: It is 2525." in run_shell("said *.jsonl", tmp_path)


def test_what_was_played_is_a_hundred_questions_in_both_arms_and_counts_as_the_figures_say() -> None:
    played = read_recordings(RECORDINGS)
    questions = {
        one.question: PlayedQuestion(one.question, "", "", "", () if one.question.startswith("ab-") else (("words",),))
        for one in played
    }

    tools, grep = (count_talks([one for one in played if one.arm == arm], questions) for arm in ("tools", "grep"))

    assert [(found["n"], found["absent"], found["absent_known"]) for found in (tools, grep)] == [(80, 20, 1.0)] * 2
    assert (tools["calls"], tools["characters"]) == ([1, 3], [1_992, 6_879])
    assert (grep["calls"], grep["characters"]) == ([2, 6], [4_695, 12_874])
    assert (tools["calls_absent"], grep["calls_absent"]) == ([1, 2], [2, 7])
    assert all(one.answer for one in played)
