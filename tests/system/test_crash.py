"""Indexing that is killed leaves nothing that the next run does not repair by itself."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parent.parent.parent


def under_fire(folder: Path, attempts: int, seed: int) -> list[dict[str, Any]]:
    """What `indexing_under_fire.py` printed."""
    command = [sys.executable, "-m", "tests.system.indexing_under_fire", str(folder), str(attempts), str(seed)]
    ran = subprocess.run(command, cwd=REPOSITORY, check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


def faults(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The builds that ended by themselves with an error, and the repairs that do not equal a build from nothing."""
    return [line for line in lines if line.get("equal") is False or line.get("code", 0) > 0]


def kills(lines: list[dict[str, Any]]) -> int:
    return sum(line.get("killed", False) for line in lines)


def test_indexing_killed_at_any_moment_is_repaired_by_the_next_run(tmp_path: Path) -> None:
    lines = under_fire(tmp_path, attempts=5, seed=3)

    assert faults(lines) == []
    assert kills(lines) >= 1


@pytest.mark.stress
@pytest.mark.timeout(7_200)
def test_indexing_killed_two_hundred_times_is_repaired_each_time(tmp_path: Path) -> None:
    lines = under_fire(tmp_path, attempts=400, seed=4)

    assert faults(lines) == []
    assert kills(lines) >= 200
