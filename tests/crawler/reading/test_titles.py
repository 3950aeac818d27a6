from pathlib import Path

import pytest

from crawler.facts import gather_facts
from crawler.reading.titles import MAX_CHARS, WITHOUT_WORDS, make_title
from tests.crawler.builders import Record, assistant, call, entry_id, person, result, turns_of

RELAY = "The relay loses its connection after the idle timeout of the proxy."
ABOUT_RELAY = assistant(2, "The relay drops the connection: the proxy has an idle timeout.")
PLAN = "# Plan: Keep the relay alive\n\nSend a keepalive."


def title(tmp_path: Path, *records: Record) -> str:
    turns = turns_of(tmp_path, *records)
    return make_title(turns, gather_facts(turns))


def committed(number: int, subject: str) -> list[Record]:
    return [
        assistant(number, call("Bash", f"c{number}", command=f"git commit -m '{subject}'")),
        result(number + 1, f"c{number}", f"[main 1a2b3c{number}] {subject}\n 1 file changed"),
    ]


def summary(text: str, leaf: int) -> Record:
    return {"type": "summary", "summary": text, "leafUuid": entry_id(leaf)}


def test_the_clients_own_title_comes_first(tmp_path: Path) -> None:
    named: Record = {"type": "custom-title", "customTitle": "relay-timeout", "sessionId": "s"}

    assert title(tmp_path, person(1, RELAY), ABOUT_RELAY, named) == "relay-timeout"


def test_a_summary_of_another_session_is_no_title(tmp_path: Path) -> None:
    records = [summary("Lint errors fixed", leaf=99), person(1, "Why does the relay lose its connection?"), ABOUT_RELAY]

    assert title(tmp_path, *records) == "Why does the relay lose its connection?"
    assert title(tmp_path, summary("Relay and proxy", leaf=2), *records) == "Relay and proxy"


def test_the_heading_of_an_accepted_plan_comes_before_what_was_typed(tmp_path: Path) -> None:
    records = [person(1, RELAY), ABOUT_RELAY, assistant(3, call("ExitPlanMode", "c1", plan=PLAN))]
    planned = [*records, result(4, "c1", "approved")]
    refused = [*records, result(4, "c1", "The user doesn't want to proceed", is_error=True)]

    assert title(tmp_path, *planned) == "Keep the relay alive"
    assert title(tmp_path, *refused) == RELAY


def test_of_commits_the_one_whose_words_come_back_is_the_title(tmp_path: Path) -> None:
    subjects = [*committed(3, "chore: update STATE.md"), *committed(5, "fix(relay): keep the connection of the relay")]

    assert title(tmp_path, person(1, "ok commit this"), ABOUT_RELAY, *subjects) == "keep the connection of the relay"


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ("ok, can you check why the relay loses its connection?", "check why the relay loses its connection?"),
        ("/orchestrator find the idle timeout of the proxy", "find the idle timeout of the proxy"),
        ("You are an expert. Find the idle timeout of the proxy.", "Find the idle timeout of the proxy."),
        ("fix these", "fix these: src/relay.py"),
        ("/init", "/init: src/relay.py"),
    ],
)
def test_what_tells_too_little_is_passed_over_or_gets_its_place(tmp_path: Path, first: str, expected: str) -> None:
    command = f"<command-message>x</command-message><command-name>{first.split()[0]}</command-name>"
    typed = f"{command}<command-args>{first.partition(' ')[2]}</command-args>" if first[0] == "/" else first
    edit = call("Edit", "c1", file_path="/srv/app/src/relay.py", old_string="a", new_string="b")

    assert title(tmp_path, person(1, typed), ABOUT_RELAY, assistant(3, edit), result(4, "c1", "done")) == expected


@pytest.mark.parametrize(
    "first", [f"{'so ' * 40} the relay, {'the proxy ' * 30}\nand the idle timeout", "?\n?\n? ? ? ?"]
)
def test_a_title_is_one_line_of_bounded_length(tmp_path: Path, first: str) -> None:
    edit = call("Edit", "c1", file_path=f"/srv/app/relay/{'relay-proxy-' * 20}.py", old_string="a", new_string="b")

    found = title(tmp_path, person(1, first), ABOUT_RELAY, assistant(3, edit), result(4, "c1", "done"))

    assert 0 < len(found) <= MAX_CHARS
    assert "\n" not in found


def test_without_any_word_that_is_said(tmp_path: Path) -> None:
    assert title(tmp_path, person(1, "hm")) == WITHOUT_WORDS
