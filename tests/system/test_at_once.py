"""The short commands start with little: what the daemon has read, they do not read again."""

import subprocess
import sys
from pathlib import Path

import pytest

from oneiros.light.endpoint import is_running
from tests.system.house import House
from tests.test_arrows import HEAVY

PROGRAM = """
import sys
from oneiros.cli.main import run
try:
    run()
finally:
    print("loaded", *sys.modules, file=sys.stderr)
"""


def run_listing(house: House, *arguments: str, folder: Path | None = None) -> tuple[str, list[str]]:
    """What a command prints, and the packages that it had imported at its end. `folder`: where it is typed."""
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        env=dict(house.variables),
        cwd=folder or house.folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return ended.stdout, ended.stderr.rpartition("loaded ")[2].split()


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("--version", "oneiros "),
        ("--help", "Ask and read:"),
        ("recall --help", "Query syntax:"),
        ("recall which port does the relay listen on", "The relay listens on port 2525."),
        ("search an animal that rests", "The grey cat sleeps"),
        ("exact 2525", "The relay listens on port 2525."),
        ("topics", "cats"),
        ("read mail", "The relay listens on port 2525."),
        ("status", "level with the disk"),
    ],
)
def test_a_short_command_imports_nothing_heavy(served: House, command: str, answer: str) -> None:
    out, loaded = run_listing(served, *command.split())

    assert answer in out
    assert [name for name in HEAVY if name in loaded] == []


def test_a_question_in_a_work_tree_is_told_in_its_project_and_imports_nothing_heavy(served: House) -> None:
    tree = served.folder / "kiosk"
    (tree / ".git").mkdir(parents=True)
    till = "---\ntitle: Till\nproject: shop\n---\n# Till\n\nThe till prints with the Epson driver.\n"
    (served.root / "topics" / "till.md").write_text(till, encoding="utf-8")
    assert served.client.ask("POST", "/api/reindex", {"wait_seconds": 60})["done"]

    out, loaded = run_listing(served, "recall", "which driver does the till print with", folder=tree)

    assert "Epson" in out and "of shop" in out
    assert [name for name in HEAVY if name in loaded] == []


def test_a_question_starts_the_daemon_of_a_memory_that_has_none(house: House) -> None:
    answered = house.command("recall", "which port does the relay listen on")

    assert "The relay listens on port 2525." in answered.stdout
    assert is_running(str(house.root))


def test_a_question_without_daemon_starts_none(house: House) -> None:
    answered = house.command("recall", "which port does the relay listen on", "--no-daemon")

    assert "The relay listens on port 2525." in answered.stdout
    assert not is_running(str(house.root))


def test_a_question_is_answered_where_no_daemon_can_be_started(house: House) -> None:
    (house.folder / "run" / "oneiros").write_text("in the way of the sockets", encoding="utf-8")

    answered = house.command("recall", "which port does the relay listen on")

    assert "The relay listens on port 2525." in answered.stdout
    assert "the daemon does not start" in answered.stderr
    assert "Answering without it." in answered.stderr


def test_bash_completes_commands_and_their_options(house: House) -> None:
    program = house.folder / "oneiros"
    program.write_text(f"#!{sys.executable}\nfrom oneiros.cli.main import run\nrun()\n", encoding="utf-8")
    program.chmod(0o755)
    variables = {**house.variables, "SHELL": "/bin/bash"}
    subprocess.run([program, "setup", "--completion", "--yes"], env=variables, cwd=house.folder, check=True)

    script = f"""
    . {house.folder}/.bashrc
    COMP_WORDS=(oneiros re); COMP_CWORD=1; _oneiros_completion {program}; echo "${{COMPREPLY[@]}}"
    COMP_WORDS=(oneiros recall --no); COMP_CWORD=2; _oneiros_completion {program}; echo "${{COMPREPLY[@]}}"
    """
    output = subprocess.run(["bash", "--norc", "-c", script], env=variables, capture_output=True, text=True, check=True)

    assert output.stdout.splitlines() == [
        "recall read redact remember readings review report reindex",
        "--no-daemon --no-color",
    ]
    assert output.stderr == ""


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ({"_ONEIROS_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "oneiros ing"}, "ingest"),
        (
            {
                "_ONEIROS_COMPLETE": "complete_fish",
                "_TYPER_COMPLETE_ARGS": "oneiros val",
                "_TYPER_COMPLETE_FISH_ACTION": "get-args",
            },
            "validate\tCheck",
        ),
    ],
)
def test_zsh_and_fish_are_told_what_may_follow(house: House, question: dict[str, str], expected: str) -> None:
    command = [sys.executable, "-c", "from oneiros.cli.main import run; run()"]
    answered = subprocess.run(
        command, env={**house.variables, **question}, cwd=house.folder, capture_output=True, text=True, check=True
    )

    assert expected in answered.stdout


@pytest.mark.parametrize("command", ["reindex", "ingest", "dream", "doctor", "report"])
def test_a_command_imports_nothing_that_only_the_daemon_needs(house: House, command: str) -> None:
    _, loaded = run_listing(house, command)

    assert [name for name in ("mcp", "fastapi", "uvicorn") if name in loaded] == []
