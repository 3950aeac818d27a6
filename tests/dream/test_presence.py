"""Who counts as a person."""

import os
import subprocess
import sys

import pytest

from dream.decisions.presence import (
    CLIENT_VARIABLES,
    How,
    NotTheWord,
    Process,
    ancestors,
    is_client,
    person_at_terminal,
    require_no_client,
)
from memory_server.errors import UsageError


def process(name: str = "bash", *command: str, variables: frozenset[str] = frozenset()) -> Process:
    return Process(2, 1, name, command or (name,), variables)


def is_allowed(variables: dict[str, str], *above: Process) -> bool:
    try:
        require_no_client(variables, iter(above))
    except UsageError:
        return False
    return True


@pytest.mark.parametrize("name", CLIENT_VARIABLES)
def test_a_variable_of_the_client_refuses(name: str) -> None:
    with pytest.raises(UsageError, match="assistant cannot accept"):
        require_no_client({name: "1"}, iter([]))


def test_settings_of_a_person_for_the_client_do_not_refuse() -> None:
    assert is_allowed({"CLAUDE_CONFIG_DIR": "/x", "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "9"}, process())
    assert not is_allowed({}, process("claude"))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (process("claude"), True),
        (process("node", "node", "/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js"), True),
        (process("node", "node", "/home/ada/.local/bin/claude"), True),
        (process("bash", variables=frozenset({"CLAUDECODE"})), True),
        (process("bash", "bash", "-c", "grep claude notes.txt"), False),
        (process("vim", "vim", "CLAUDE.md"), False),
        (process("tmux: server"), False),
    ],
)
def test_the_client_is_known_among_processes(found: Process, expected: bool) -> None:
    assert is_client(found) is expected


def test_the_ancestors_lead_from_this_process_to_its_parent() -> None:
    found = list(ancestors(os.getpid()))

    assert [one.id for one in found[:2]] == [os.getpid(), os.getppid()]


def test_an_ancestor_that_the_client_started_is_seen_in_its_variables() -> None:
    program = (
        "import os; from dream.decisions.presence import *; print([is_client(p) for p in ancestors(os.getpid())][:1])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "CLAUDECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == "[True]"


def test_without_a_controlling_terminal_nobody_is_there() -> None:
    program = "import os; from dream.decisions.presence import person_at_terminal; person_at_terminal({})"
    done = subprocess.run(
        [sys.executable, "-c", program], start_new_session=True, capture_output=True, text=True, check=False
    )

    assert "UsageError" in done.stderr


def test_the_word_must_be_the_one_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dream.decisions.presence.ancestors", lambda _: iter([process()]))

    assert person_at_terminal({}, lambda line: line.split()[-1].strip(":")).how is How.WORD
    with pytest.raises(UsageError, match="not the word"):
        person_at_terminal({}, lambda _: "yes")
    answers = iter(["ambre\n", "", "amber\n"])
    with pytest.raises(NotTheWord, match="not the word"):
        person_at_terminal({}, lambda _: next(answers))  # the input ends: the person gives up
    assert next(answers) == "amber\n"


def test_enter_alone_asks_for_the_word_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dream.decisions.presence.ancestors", lambda _: iter([process()]))
    lines: list[str] = []

    def answer(line: str) -> str:
        lines.append(line)
        return "\n" if len(lines) < 3 else f"{line.split()[-1].strip(':')}\n"

    assert person_at_terminal({}, answer).how is How.WORD
    assert lines[0].startswith("To decide") and lines[1] == lines[2]
    assert lines[1].startswith("Nothing is decided without it. Once more, or Ctrl-D to give up: type the word")
    with pytest.raises(NotTheWord):
        person_at_terminal({}, lambda _: "\n")
