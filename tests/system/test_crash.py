"""Indexing that is killed leaves nothing that the next run does not repair by itself."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parent.parent.parent


def under_fire(folder: Path, kills: int, seed: int) -> list[dict[str, Any]]:
    """What `indexing_under_fire.py` printed."""
    command = [sys.executable, "-m", "tests.system.indexing_under_fire", str(folder), str(kills), str(seed)]
    ran = subprocess.run(command, cwd=REPOSITORY, check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


def assert_repaired(lines: list[dict[str, Any]], *, least_killed: int) -> None:
    assert [line for line in lines if line.get("equal") is False] == []
    assert [line for line in lines if line.get("code", 0) > 0] == []
    assert sum(line.get("killed", False) for line in lines) >= least_killed


def test_indexing_killed_at_any_moment_is_repaired_by_the_next_run(tmp_path: Path) -> None:
    lines = under_fire(tmp_path, kills=5, seed=3)

    assert_repaired(lines, least_killed=1)


@pytest.mark.stress
@pytest.mark.timeout(3_600)
def test_indexing_killed_two_hundred_and_fifty_times_is_repaired_each_time(tmp_path: Path) -> None:
    lines = under_fire(tmp_path, kills=400, seed=4)

    assert_repaired(lines, least_killed=200)
