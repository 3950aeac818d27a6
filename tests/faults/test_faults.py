"""Whatever fails while a memory changes, what lies there is the old state or the new one, and the person is told."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.faults

REPOSITORY = Path(__file__).parent.parent.parent
MOST = 64  # points of one change at least; with all changes and the few points of a decision 540
SCENARIOS = (
    *("archive", "append", "forget", "reindex", "rebuild", "model", "migration"),
    *("accept", "revert", "remember", "move", "merge", "install", "uninstall"),
    *("gc", "prune", "unprune", "backup"),
)


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What stands between a process and its disk. Needs a C compiler."""
    made = tmp_path_factory.mktemp("shim") / "shim.so"
    source = Path(__file__).with_name("shim.c")
    subprocess.run(["cc", "-Wall", "-Werror", "-shared", "-fPIC", "-O1", "-o", made, source, "-ldl"], check=True)
    return made


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_change_that_fails_anywhere_leaves_the_old_state_or_the_new(
    scenario: str, shim: Path, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "tests.faults.under_faults", scenario, str(tmp_path), str(MOST)]
    variables = os.environ | {"LD_PRELOAD": str(shim), "HOME": str(tmp_path / "home")}
    ran = subprocess.run(command, cwd=REPOSITORY, env=variables, check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    head, clock, *rows = map(json.loads, ran.stdout.splitlines())

    assert clock["code"] == 0 and clock["again"] in NEW[scenario], clock
    assert len(rows) >= min(MOST, head["points"])
    assert [row for row in rows if row["then"] not in THEN[scenario] or row["again"] not in NEW[scenario]] == []
    assert [row for row in rows if is_unforeseen(row)] == []


# To ingest is to archive and then to compress, and to forget is both backwards: the next ingest goes on between them. A
# skill is a file before it is noted.
THEN = dict.fromkeys(SCENARIOS, ("new", "old")) | dict.fromkeys(
    ("archive", "append", "forget", "install", "uninstall"), ("new", "old", "between")
)
# A change of indices alone leaves the same answers as before it.
NEW = dict.fromkeys(SCENARIOS, ("new",)) | dict.fromkeys(("reindex", "rebuild", "migration"), ("new", "old"))


def is_unforeseen(row: dict[str, Any]) -> bool:
    """Whether an error reached the person as a mistake of the program."""
    return row["code"] not in (0, 137) and (not row["said"] or "unexpectedly" in row["said"])
