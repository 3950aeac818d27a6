"""What the hook in front of a tool says where the guard comes to no answer."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HANGING = (
    "from oneiros.light import hook; from parts.guard import protected; hook.OTHER_SECONDS = 0.2;"
    "protected.reason_to_deny = lambda *_: __import__('threading').Event().wait(60); hook.run()"
)
PATIENT = "from oneiros.light import hook; hook.OTHER_SECONDS = 50; hook.run()"  # on a busy machine it takes too long


def answer_call(payload: str, home: Path, program: str = "from oneiros.light.hook import run; run()") -> str:
    done = subprocess.run(
        [sys.executable, "-c", program, "PreToolUse"],
        input=payload, env={"HOME": str(home)}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def call(tool: str, **arguments: str) -> str:
    return json.dumps({"tool_name": tool, "tool_input": arguments, "cwd": "/"})


@pytest.mark.parametrize(("command", "is_denied"), [("cat topics/mail.md", True), ("ls -l", False)])
def test_a_guard_that_takes_too_long_denies_what_may_touch_a_memory(
    command: str, is_denied: bool, tmp_path: Path
) -> None:
    answer = answer_call(call("Bash", command=command), tmp_path, HANGING)

    assert ('"deny"' in answer) == is_denied


def test_a_call_is_judged_whatever_its_length_and_denied_beyond_all_measure(tmp_path: Path) -> None:
    root = tmp_path / ".oneiros" / "memory"
    (root / "topics").mkdir(parents=True)
    (root / "MEMORY.md").touch()
    long, beyond = "oneiros " * 200_000, "oneiros " * 2_200_000

    assert answer_call(call("Write", file_path=str(tmp_path / "x.md"), content=long), tmp_path, PATIENT) == ""
    assert '"deny"' in answer_call(
        call("Write", content=long, file_path=str(root / "topics" / "x.md")), tmp_path, PATIENT
    )
    assert '"deny"' in answer_call(call("Write", file_path=str(tmp_path / "x.md"), content=beyond), tmp_path, PATIENT)
    assert '"deny"' in answer_call(call("Bash", command=f"oneiros review # {'x' * 1_200_000}"), tmp_path, PATIENT)
    assert '"deny"' in answer_call(
        call("Bash", command=f": {'x' * 1_200_000}; oneiros dream accept 2026-01-01-1"), tmp_path, PATIENT
    )
    assert answer_call(call("Bash", command=f"cd build # memory {'x' * 1_200_000}"), tmp_path, PATIENT) == ""


def test_a_guard_that_breaks_denies_what_may_touch_a_memory(tmp_path: Path) -> None:
    breaking = (
        "from oneiros.light import hook; from parts.guard import protected;"
        "protected.reason_to_deny = lambda *_: 1 / 0; hook.run()"
    )

    assert '"deny"' in answer_call(call("Bash", command="cat topics/mail.md"), tmp_path, breaking)
    assert answer_call(call("Bash", command="ls -l"), tmp_path, breaking) == ""


def test_names_in_capitals_are_looked_at_too(tmp_path: Path) -> None:
    root = tmp_path / "Work" / "Notes"
    (root / "topics").mkdir(parents=True)
    (root / "MEMORY.md").touch()
    settings = tmp_path / ".config" / "oneiros" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'trusted_roots = ["{root}"]\n', encoding="utf-8")

    assert '"deny"' in answer_call(call("Write", file_path=f"{root}/Topics/mail.md"), tmp_path)
