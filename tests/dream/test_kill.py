"""A decision that is killed between any two of its steps leaves the old or the new state whole."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.dream.accepting_under_fire import begin, decide, in_child, look, repair
from tests.dream.builders import PERSON, decisions_on, new_topic, proposed
from tests.system.house import CHECKOUT


def under_fire(folder: Path, seed: int, rounds: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.dream.accepting_under_fire", str(folder), str(seed), str(rounds)],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]

    assert [one for one in found if not one["at_once"] or not one["agree"] or one["repaired"]] == [], done.stderr
    at_steps = [one for one in found if one["step"] != "any"]
    assert {one["step"] for one in at_steps if one["killed"]} >= set(range(7)), "too few steps were met"
    assert any(not one["killed"] for one in at_steps)
    assert all(one["state"] != one["was"] for one in at_steps), "what was planned is finished by the next process"


def test_a_killed_decision_is_finished_by_the_next_process(tmp_path: Path) -> None:
    under_fire(tmp_path, seed=1, rounds=2)


@pytest.mark.stress
@pytest.mark.timeout(7_200)
def test_a_decision_killed_at_every_step_leaves_one_whole_state(tmp_path: Path) -> None:
    under_fire(tmp_path, seed=2, rounds=18)


def test_a_removal_that_was_committed_and_killed_leaves_no_trace_in_the_index(tmp_path: Path) -> None:
    root = begin(tmp_path / "memory")
    decisions = decisions_on(root)
    [hunk] = proposed(decisions, new_topic("Backups run at 03:00.", "backups"))
    decisions.accept(hunk.id, PERSON)

    code = in_child(lambda: decide(root, hunk.id, step=3))
    repair(root)

    assert code == -signal.SIGKILL and look(root, hunk.id)["agree"]
