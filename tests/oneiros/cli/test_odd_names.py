"""What a person is told about files whose names would steer a terminal."""

import pytest

from memory_server.errors import Problem
from oneiros.cli.terminal.output import talk


def test_a_problem_is_one_line_whatever_the_file_is_called() -> None:
    problem = Problem("topics/a\x1b]0;b\x07\n1  topic  topics/forged.md", 1, "it has no pointer")

    assert str(problem) == r"topics/a\u001b]0;b\u0007 1 topic topics/forged.md:1: it has no pointer."


def test_a_remark_does_not_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    talk("Read on: oneiros read topics/a\x1b[2J.md:1\nor not")

    assert capsys.readouterr().err == "Read on: oneiros read topics/a\\u001b[2J.md:1\nor not\n"
