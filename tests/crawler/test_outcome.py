"""How what was said in a session ended."""

from pathlib import Path

import pytest

from crawler.archived import make_archived_turns
from crawler.outcome import find_outcomes
from memory_server.document import Standing
from tests.crawler.builders import Record, assistant, call, entry_id, person, result, turns_of

REFUSAL = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the"
    " new_string was NOT written to the file). To tell you how to proceed, the user said:\nuse our logger instead"
)
STOPPED = REFUSAL.partition(" To tell you")[0] + " STOP what you are doing and wait for the user to tell you."


def find_endings(folder: Path, *records: Record) -> dict[str, tuple[str, int]]:
    """For the first words of every turn of which the session tells an outcome: which, and the turn that shows it."""
    turns = turns_of(folder, *records)
    found = find_outcomes(turns)
    return {turns[at - 1].text.split(".")[0]: (one.standing.value, one.turn) for at, one in found.items()}


def edit(number: int, call_id: str = "e1") -> Record:
    return assistant(number, call("Edit", call_id, file_path="/srv/app/relay.py", old_string="a", new_string="b"))


def bash(number: int, command: str, call_id: str = "b1") -> Record:
    return assistant(number, call("Bash", call_id, command=command))


def test_a_plain_yes_agrees_to_what_was_said_last_and_a_yes_with_a_but_to_nothing(tmp_path: Path) -> None:
    assert find_endings(
        tmp_path,
        person(1, "Where should the cache live?"),
        assistant(2, "In Redis. Shall I go on?"),
        person(3, "yes please"),
        assistant(4, "It expires after an hour."),
        person(5, "yes, but make it a day"),
        assistant(6, "A day it is."),
    ) == {"In Redis": ("agreed", 3)}


def test_an_option_that_the_person_chose_and_a_plan_that_they_accepted_are_agreed(tmp_path: Path) -> None:
    turns = turns_of(
        tmp_path,
        person(1, "Set the relay up."),
        assistant(2, call("AskUserQuestion", "c1", questions=[{"question": "Which port?"}])),
        result(3, "c1", 'The user answered: "Which port?"="2525"'),
        assistant(4, call("ExitPlanMode", "c2", plan="1. Open port 2525.")),
        result(5, "c2", "User has approved your plan."),
    )

    texts = [(turn.spoken, turn.is_person, turn.standing) for turn in make_archived_turns(turns) if turn.standing]

    assert texts == [
        ('The user answered: "Which port?"="2525"', True, Standing.AGREED),
        ("1. Open port 2525.", False, Standing.AGREED),
    ]


def test_what_led_into_a_written_file_is_done(tmp_path: Path) -> None:
    assert find_endings(
        tmp_path,
        person(1, "The relay hangs."),
        assistant(2, "I look."),
        bash(3, "cat relay.py"),
        result(4, "b1", "sleep(99)"),
        assistant(5, "It sleeps too long. I shorten it."),
        edit(6),
        result(7, "e1", "The file has been updated."),
        assistant(8, "Try it."),
    ) == {"It sleeps too long": ("done", 5)}


def test_what_led_into_an_edit_that_failed_is_not_done(tmp_path: Path) -> None:
    failed = result(4, "e1", "String not found", is_error=True)

    assert find_endings(tmp_path, person(1, "The relay hangs."), assistant(2, "I shorten it."), edit(3), failed) == {}


COMMITTED = "[main 1a2b3c4] Shorten the wait\n 1 file changed"


@pytest.mark.parametrize(
    ("command", "output", "standing"),
    [
        ("uv run pytest -q", "12 passed in 0.31s", "done"),
        ("uv run pytest -q", "1 failed, 11 passed in 0.31s", ""),
        ("go test ./...", "ok  \texample.com/relay\t0.2s", "done"),
        ("go test ./...", "ok  \texample.com/relay\t0.2s\nFAIL\texample.com/mail\t0.1s", ""),
        ("git commit -am 'Shorten the wait'", COMMITTED, "done"),
        ("git commit -am 'Shorten the wait'", "nothing to commit, working tree clean", ""),
        ("cat notes.txt", "12 passed", ""),
    ],
)
def test_a_report_is_done_where_a_commit_or_passing_tests_stand_before_it(
    tmp_path: Path, command: str, output: str, standing: str
) -> None:
    found = find_endings(
        tmp_path,
        person(1, "Shorten the wait."),
        edit(2),
        result(3, "e1", "The file has been updated."),
        bash(4, command),
        result(5, "b1", output),
        assistant(6, "The relay waits a second."),
    )

    assert found == ({"The relay waits a second": (standing, 3)} if standing else {})


def test_a_report_is_not_done_where_something_was_written_since_the_tests_passed(tmp_path: Path) -> None:
    records = [
        person(1, "Shorten the wait."),
        bash(2, "pytest"),
        result(3, "b1", "12 passed"),
        edit(4),
        result(5, "e1", "The file has been updated."),
        assistant(6, "The relay waits a second."),
    ]

    assert find_endings(tmp_path, *records) == {}


@pytest.mark.parametrize(
    ("words", "reply"),
    [
        ("no, remove this again, somebody will take it for a stable link", "It is gone."),
        ("that's wrong, the hook gets the prompt", "I look again."),
        ("claude stop is not correct, that is the end of a turn", "I look again."),
        ("why can we not just use booleans?", "You're right, we should use booleans."),
        ("but there is no service running?", "You're absolutely right. I was wrong."),
        ("I would rather store nothing about people there.", "Fair point. Let me revert that."),
    ],
)
def test_what_the_person_rejects_or_the_assistant_takes_back_is_dropped(tmp_path: Path, words: str, reply: str) -> None:
    records = [person(1, "Link them."), assistant(2, "I store the hash."), person(3, words), assistant(4, reply)]

    assert find_endings(tmp_path, *records) == {"I store the hash": ("dropped", 3)}


@pytest.mark.parametrize(
    ("words", "reply"),
    [
        ("and add a test", "Good point. It should have a test."),
        ("yes, exactly what I was thinking", "Good call. It is simpler."),
        ("does it also work on a mac?", "You're right to ask: it does."),
        ("delete the file geese.md too", "It is gone."),
        ("no problem, go on", "The next one is larger."),
    ],
)
def test_what_is_added_to_praised_or_asked_about_is_not_dropped(tmp_path: Path, words: str, reply: str) -> None:
    found = find_endings(
        tmp_path, person(1, "Link them."), assistant(2, "I store it."), person(3, words), assistant(4, reply)
    )

    assert "dropped" not in [standing for standing, _ in found.values()]


def test_an_edit_that_the_person_refused_drops_what_led_into_it_and_their_words_are_theirs(tmp_path: Path) -> None:
    records = [
        person(1, "Tell about bad ids."),
        assistant(2, "I write to stderr."),
        edit(3),
        result(4, "e1", REFUSAL, is_error=True),
        assistant(5, "With the logger then."),
    ]

    turns = make_archived_turns(turns_of(tmp_path, *records))

    assert find_endings(tmp_path, *records) == {"I write to stderr": ("dropped", 3)}
    assert [(turn.spoken, turn.is_person) for turn in turns][2] == ("use our logger instead", True)


def test_a_refusal_without_words_is_explained_by_what_the_person_said_next(tmp_path: Path) -> None:
    assert find_endings(
        tmp_path,
        person(1, "Tell about bad ids."),
        assistant(2, "I write to stderr."),
        edit(3),
        result(4, "e1", STOPPED, is_error=True),
        person(5, "we have a logger"),
        assistant(6, "I use it."),
    ) == {"I write to stderr": ("dropped", 4)}


def test_what_a_rewind_left_is_dropped_by_the_prompt_that_went_on(tmp_path: Path) -> None:
    assert find_endings(
        tmp_path,
        person(1, "Hello."),
        assistant(2, "Good morning."),
        person(3, "Use MySQL."),
        assistant(4, "MySQL it is."),
        person(5, "Use SQLite.", parentUuid=entry_id(2)),
        assistant(6, "SQLite it is."),
    ) == {"Use MySQL": ("dropped", 5), "MySQL it is": ("dropped", 5)}


def test_what_was_dropped_is_not_called_done(tmp_path: Path) -> None:
    assert find_endings(
        tmp_path,
        person(1, "Link them."),
        assistant(2, "I store the hash."),
        edit(3),
        result(4, "e1", "The file has been updated."),
        person(5, "revert that"),
        assistant(6, "It is gone."),
    ) == {"I store the hash": ("dropped", 4)}


def test_a_session_of_tools_alone_tells_nothing(tmp_path: Path) -> None:
    assert find_endings(tmp_path, bash(1, "ls"), result(2, "b1", "relay.py")) == {}
    assert find_outcomes([]) == {}


def test_with_a_report_that_is_undone_all_is_dropped_that_its_exchange_had_done(tmp_path: Path) -> None:
    assert find_endings(
        tmp_path,
        person(1, "Keep the address over a reload."),
        assistant(2, "I look."),
        bash(3, "cat store.ts"),
        result(4, "b1", "export {}"),
        assistant(5, "It goes to the local storage."),
        edit(6),
        result(7, "e1", "The file has been updated."),
        assistant(8, "It survives."),
        person(9, "I would rather not keep that there."),
        assistant(10, "Fair point. Let me revert that."),
    ) == {"It goes to the local storage": ("dropped", 7), "It survives": ("dropped", 7)}
