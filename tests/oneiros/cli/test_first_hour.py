"""The first hour as README has it: the example, leaving it, and a memory of one's own in five commands."""

import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from oneiros.cli.main import main
from oneiros.environment import Environment
from tests.crawler.builders import working_session, write_transcript
from tests.memories import without_daemon

README = (Path(__file__).parent.parent.parent.parent / "README.md").read_text(encoding="utf-8")
Oneiros = Callable[..., tuple[int, str, str]]


@pytest.fixture
def oneiros(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Oneiros:
    """Runs one command in a home with one finished conversation: exit code, stdout, stderr."""
    write_transcript(tmp_path / ".claude" / "projects" / "-work-app", *working_session())

    def run(*words: str) -> tuple[int, str, str]:
        code = main(without_daemon(words), Environment({"HOME": str(tmp_path)}, tmp_path, tmp_path))
        out, told = capsys.readouterr()
        return code, out, told

    return run


def commands_of(heading: str) -> list[list[str]]:
    """The command lines of a section of README, without the program."""
    section = README.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return [shlex.split(line, comments=True)[2:] for line in section.splitlines() if line.startswith("$ oneiros ")]


def test_the_five_commands_of_readme_make_a_memory_of_ones_own(oneiros: Oneiros, tmp_path: Path) -> None:
    init, ingest, recall, dream, review = commands_of("Your own memory, in five commands")
    recall[1] = "why does the relay lose its connection"

    codes = [oneiros(*words)[0] for words in (init, ingest)]
    code, found, _ = oneiros(*recall)
    dreamt, listed = oneiros(*dream), oneiros(*review, "--list")

    assert (codes, code, dreamt[0]) == ([0, 0], 0, 0)
    assert re.search(r"^ 1  (session|raw) ", found, re.MULTILINE)
    assert listed[0] == (0 if dreamt[1] else 1)
    assert (tmp_path / ".oneiros" / "memory" / ".git").is_dir()


def test_init_says_what_it_found_and_what_to_do_next(oneiros: Oneiros, tmp_path: Path) -> None:
    transcript = next((tmp_path / ".claude").rglob("*.jsonl"))
    os.utime(transcript, (0, 0))

    _, _, told = oneiros("init")

    steps = told[told.index("Found ") :].splitlines()
    assert steps[0] == "Found 1 transcript in 1 folder, 0.0 MB; Claude Code deletes 1 of them this week. Next:"
    assert [re.sub(r" +about .*", "", line.strip()) for line in steps[1:4]] == [
        "oneiros ingest --no-wait",
        "oneiros import",
        "oneiros dream",
    ]
    assert steps[4] == "All of them in this order: oneiros init --all. Then decide: oneiros review"


def test_the_example_is_left_by_moving_it(oneiros: Oneiros, tmp_path: Path) -> None:
    oneiros("init", "--example")
    assert oneiros("exact", "ChromaDB")[0] == 0
    assert "mv ~/.oneiros/memory ~/oneiros-example" in README

    (tmp_path / ".oneiros" / "memory").rename(tmp_path / "oneiros-example")

    assert oneiros("init")[0] == 0
    assert oneiros("exact", "ChromaDB")[:2] == (1, "")
    assert oneiros("topics")[2].startswith("0 topics and the lessons")
