"""What a person is told about files whose names would steer a terminal."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from memory_server.errors import ContentError, Problem, nearest_or
from memory_server.faces.memory_text import topics_text
from memory_server.layers.topics import topic_heads
from memory_server.root.places import require_memory
from oneiros.cli.main import main
from oneiros.cli.terminal.output import talk
from oneiros.environment import Environment
from oneiros.opening import open_memory
from tests.memories import new_root, without_daemon, write_topic


def test_a_problem_is_one_line_whatever_the_file_is_called() -> None:
    problem = Problem("topics/a\x1b]0;b\x07\n1  topic  topics/forged.md", 1, "it has no pointer")

    assert str(problem) == r"topics/a\u001b]0;b\u0007 1 topic topics/forged.md:1: it has no pointer."


def test_a_remark_does_not_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    talk("Read on: oneiros read topics/a\x1b[2J.md:1\nor not")

    assert capsys.readouterr().err == "Read on: oneiros read topics/a\\u001b[2J.md:1\nor not\n"


HOSTILE = ("ev\x1b[31mil", "new\nline", "bell\x07/sub", "wide\u202etxt")
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")
COMMANDS = (
    *(["topics"], ["topics", "--tree"], ["topics", "mv", "evl", "x"], ["topics", "tidy"], ["read", "evil"], ["status"]),
    *(["recall", "pump"], ["search", "pump"], ["exact", "pump"], ["recall", "pump", "-v"], ["validate"], ["report"]),
    *(["keep", "evil"], ["mute", "evil"], ["wrong", "evil:1", "x"], ["dream", "blame", "evil:3"], ["gc"], ["doctor"]),
    *(["dream", "adopt", "topics/ev\x1b[31mil.md"], ["queries"], ["drill", "evil\x1b[2J"], ["config", "x\x1b[2J"]),
)


@pytest.fixture
def hostile(tmp_path: Path) -> Environment:
    """A memory whose topics are called what no person would call them."""
    root = new_root(tmp_path / "home" / ".oneiros" / "memory")
    for name in HOSTILE:
        file = root.topics / f"{name}.md"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"# {name}\n\nThe pump of {name} is blue.\n", encoding="utf-8")
    variables = {"HOME": str(tmp_path / "home"), "HF_HUB_CACHE": "/x", "XDG_STATE_HOME": str(tmp_path / "state")}
    return Environment(variables, tmp_path / "home", tmp_path)


def test_no_command_prints_a_name_as_it_is(hostile: Environment, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in COMMANDS:
        main(without_daemon(arguments), hostile)
        output = "".join(capsys.readouterr())

        assert not CONTROLS.search(output) and "new\nline" not in output, (arguments, output)


def test_no_tool_prints_a_name_as_it_is(hostile: Environment) -> None:
    with open_memory(hostile) as memory:
        heads = topic_heads(memory.root)
        told = topics_text(heads)
        with pytest.raises(ContentError) as refused:
            memory.read("evil")

    assert len(heads) == len(HOSTILE)
    assert not CONTROLS.search(told) and "new\nline" not in told
    assert not CONTROLS.search(str(refused.value)) and "new\nline" not in str(refused.value)


@pytest.mark.parametrize("arguments", [["topics"], ["recall", "Straße"], ["exact", "Straße", "--json"], ["report"]])
def test_output_that_takes_ascii_alone_is_no_reason_to_fail(tmp_path: Path, arguments: list[str]) -> None:
    root = new_root(tmp_path / "memory")
    write_topic(root, "wege", "# Grüße\n\nDie Straße heißt „Am Müllerweg“.\n")
    variables = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "ONEIROS_ROOT": str(root.path)}
    program = [sys.executable, "-c", "from oneiros.cli.main import run; run()"]

    done = subprocess.run(
        [*program, *without_daemon(arguments)],
        env={**variables, "PYTHONIOENCODING": "ascii", "HF_HUB_CACHE": "/x"},
        capture_output=True,
        check=True,
    )

    output = done.stdout.decode("ascii")
    assert output and b"unexpectedly" not in done.stderr
    if "--json" in arguments:
        assert "Straße" in json.loads(output)["hits"][0]["passage"]


def test_a_name_that_is_nearly_one_is_answered_with_that(hostile: Environment) -> None:
    root = require_memory(hostile.choice.root)
    write_topic(root, "git", "# Git\n\nNever force-push.\n")

    with open_memory(hostile) as memory, pytest.raises(ContentError, match=r"Did you mean git\?"):
        memory.read("gti")
    assert nearest_or("all", "semantik", ["semantic", "idle_hours"]) == "Did you mean semantic?"
    assert nearest_or("all", "nosuch", ["semantic", "idle_hours"]) == "all"
