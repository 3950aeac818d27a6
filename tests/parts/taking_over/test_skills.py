"""What is done again and again becomes a skill, where a person wants it."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from crawler.archive.store import Archive
from crawler.reading.rules import sure_lines
from dream.evidence import Evidence
from dream.judge.gate import RefusalReason
from dream.proposals.store import forget_drafts
from memory_server.redaction import Redactor
from memory_server.root.paths import MemoryRoot
from parts.taking_over.deeds import Habit, format_command
from parts.taking_over.habits import read_habits
from parts.taking_over.refusals import refusals_of_skill
from parts.taking_over.skill import list_steps, list_tools, make_name, save_draft, skill_text
from tests.parts.taking_over.skill_house import REQUEST, STEPS, archive_of_sessions, did, session_id

IDEA = "Every time I deploy I type these commands, make a script for that."


def reasons(habit: Habit, archive: Archive) -> list[RefusalReason]:
    found = refusals_of_skill(habit, skill_text(habit), Evidence(archive), Redactor())
    return [refusal.reason for refusal in found]


@pytest.fixture
def twice(tmp_path: Path) -> Archive:
    return archive_of_sessions(tmp_path, did(1, *STEPS), did(2, "git status", *STEPS, "git add src"))


def test_what_was_done_in_two_sessions_is_a_habit_with_the_words_that_asked_for_it(twice: Archive) -> None:
    [habit] = read_habits(twice)[0]

    assert list_steps(habit) == list(STEPS)
    assert [done.session_id for done in habit.times] == [session_id(1), session_id(2)]
    assert {quote.text for quote in habit.quotes} == {REQUEST}
    assert habit.project == "app"


@pytest.mark.parametrize(
    "sessions",
    [
        [did(1, *STEPS, *STEPS, *STEPS)],
        [did(1, *STEPS), did(2, *STEPS[:2])],
        [did(1, *STEPS), did(2, *STEPS, failed=["make lint"])],
        [did(1, *STEPS), did(2, STEPS[0], "rm -rf build", *STEPS[1:])],
        [
            did(1, "git add a.py", "git commit -m 'one thing'", "git push x y"),
            did(2, "git add b.py", "git commit -m two", "git push z"),
        ],
    ],
    ids=["one session", "other steps", "a step failed", "something destroyed in between", "little is the same"],
)
def test_anything_less_is_no_habit(tmp_path: Path, sessions: list[list[dict[str, object]]]) -> None:
    assert read_habits(archive_of_sessions(tmp_path, *sessions))[0] == []


def test_a_fork_that_repeats_entries_is_no_second_session(tmp_path: Path) -> None:
    once = did(1, *STEPS)
    fork = [{**record, "sessionId": session_id(2)} for record in once]

    assert read_habits(archive_of_sessions(tmp_path, once, fork))[0] == []


def test_a_skill_tells_its_steps_with_footnotes_and_allows_what_only_tests(twice: Archive) -> None:
    [habit] = read_habits(twice)[0]

    text = skill_text(habit)
    front = yaml.safe_load(text.split("---")[1])

    statement = "Runs make fmt, then make lint, then make test. Use it where one of these is due, or when asked as in:"
    assert front == {
        "name": "fmt-lint-test",
        "description": f'{statement} "{REQUEST}".',
        "allowed-tools": "Bash(make fmt) Bash(make lint) Bash(make test)",
    }
    assert "1. `make fmt`\n2. `make lint`\n3. `make test`\n" in text
    assert f"[^1]: person in session {session_id(1)}, entry " in text
    assert reasons(habit, twice) == []


def test_what_differs_is_a_gap_and_is_not_allowed(tmp_path: Path) -> None:
    archive = archive_of_sessions(
        tmp_path, did(1, *STEPS, "git push origin one"), did(2, *STEPS, "git push origin two", "make build")
    )
    [habit] = read_habits(archive)[0]

    assert list_steps(habit) == [*STEPS, "git push origin …"]
    assert list_tools(habit) == ["Bash(make fmt)", "Bash(make lint)", "Bash(make test)"]


@pytest.mark.parametrize(
    ("commands", "shown"),
    [
        (["go test ./...", "go test ./..."], "go test ./..."),
        (["go test ./a -v", "go test ./b"], "go test …"),
        (["git commit -m …", "git commit -m …"], "git commit -m …"),
        (["db --password abcdef", "db --password abcdef"], "db --password …"),
        (["db -u ada", "db -u ada"], "db -u …"),
        (["db --token=abc", "db --token=abc"], "db …"),
        (["run tell_the_person_nothing_of_it", "run tell_the_person_nothing_of_it"], "run …"),
        (["get hunter2222", "get hunter2222"], "get …"),
    ],
)
def test_only_plain_words_that_were_the_same_are_shown(commands: list[str], shown: str) -> None:
    assert format_command(commands) == shown


def test_the_gate_looks_up_every_step_and_quote(twice: Archive) -> None:
    [habit] = read_habits(twice)[0]
    first, second = habit.times
    other = replace(second, commands=("make fmt", "make lint", "make deploy"))
    words = replace(habit.quotes[0], text="please run the deploy too")

    assert reasons(replace(habit, times=(first, other)), twice)[0] is RefusalReason.NOT_FOUND
    assert reasons(replace(habit, times=(first, first)), twice)[0] is RefusalReason.NOT_REPEATED
    assert reasons(replace(habit, times=(first,)), twice)[0] is RefusalReason.NOT_REPEATED
    assert reasons(replace(habit, quotes=(words,)), twice) == [RefusalReason.NOT_FOUND]
    assert RefusalReason.NOT_FOUND in reasons(replace(habit, keys=("make fmt", "make lint", "make deploy")), twice)


def test_a_wish_for_a_script_is_an_idea(tmp_path: Path) -> None:
    archive = archive_of_sessions(tmp_path, did(1, *STEPS, later=IDEA), did(2, *STEPS))

    [habit], [[idea]] = read_habits(archive)

    assert idea.text in IDEA and "script for that" in idea.text
    assert idea.text in {quote.text for quote in habit.quotes}


def test_a_wish_for_a_script_is_no_rule(tmp_path: Path) -> None:
    archive = archive_of_sessions(tmp_path, did(1, *STEPS, later=IDEA))

    said = sure_lines(Evidence(archive).session(session_id(1)))

    assert [one.text for one in said if "script" in one.text] == []


@pytest.mark.parametrize("words", ["Please make a script for that.", "I do it each week. Make a skill of it."])
def test_an_idea_that_was_said_twice_is_one(tmp_path: Path, words: str) -> None:
    archive = archive_of_sessions(tmp_path, did(1, "ls", words=words), did(2, "ls", words=words))

    habits, [group] = read_habits(archive)

    assert habits == [] and [one.session_id for one in group] == [session_id(1), session_id(2)]


def test_a_draft_is_forgotten_with_its_sessions(tmp_path: Path, twice: Archive) -> None:
    [habit] = read_habits(twice)[0]
    root = MemoryRoot(tmp_path / "memory", tmp_path / "states")

    file = save_draft(root, habit)

    assert file.read_text(encoding="utf-8") == skill_text(habit) and make_name(habit) == "fmt-lint-test"
    forget_drafts(root, [session_id(3)])
    assert file.exists()
    forget_drafts(root, [session_id(2)])
    assert not file.exists()
