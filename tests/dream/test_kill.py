"""A decision that is killed between any two of its steps leaves the old or the new state whole."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dream.records import State
from tests.dream.accepting_under_fire import begin, decide, die_at, in_child, look, repair
from tests.dream.builders import PERSON, decisions_on, new_topic, proposed
from tests.system.house import CHECKOUT

pytestmark = pytest.mark.system

Rows = list[dict[str, Any]]


def under_fire(folder: Path, seed: int, rounds: int) -> Rows:
    """What came of each child that was to die at some step, a row each."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.dream.accepting_under_fire", str(folder), str(seed), str(rounds)],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def not_whole(found: Rows) -> Rows:
    """The rows of which files, commit, approvals and hunk did not say the same in the end."""
    return [one for one in found if not one["at_once"] or not one["agree"] or one["repaired"]]


def steps_met(found: Rows) -> set[int]:
    """The steps at which a child was killed."""
    return {one["step"] for one in found if one["killed"] and one["step"] != "any"}


def unfinished(found: Rows) -> Rows:
    """The rows in which the next process did not finish what was planned."""
    return [one for one in found if one["step"] != "any" and one["state"] == one["was"]]


def test_a_killed_decision_is_finished_by_the_next_process(tmp_path: Path) -> None:
    found = under_fire(tmp_path, seed=1, rounds=2)

    assert not_whole(found) == [] == unfinished(found)
    assert steps_met(found) >= set(range(7)), "too few steps were met"
    assert any(one["step"] != "any" and not one["killed"] for one in found), "no child came to its end"


@pytest.mark.stress
@pytest.mark.timeout(7_200)
def test_a_decision_killed_at_every_step_leaves_one_whole_state(tmp_path: Path) -> None:
    found = under_fire(tmp_path, seed=2, rounds=18)

    assert not_whole(found) == [] == unfinished(found)
    assert steps_met(found) >= set(range(7)), "too few steps were met"
    assert any(one["step"] != "any" and not one["killed"] for one in found), "no child came to its end"


def test_a_removal_that_was_committed_and_killed_leaves_no_trace_in_the_index(tmp_path: Path) -> None:
    root = begin(tmp_path / "memory")
    decisions = decisions_on(root)
    [hunk] = proposed(decisions, new_topic("Backups run at 03:00.", "backups"))
    decisions.accept(hunk.id, PERSON)

    code = in_child(lambda: decide(root, hunk.id, step=3))
    repair(root)

    assert code == -signal.SIGKILL and look(root, hunk.id)["agree"]


@pytest.mark.parametrize("step", range(5))
def test_a_rejection_that_was_killed_is_whole_for_the_next_process(tmp_path: Path, step: int) -> None:
    root = begin(tmp_path / "memory")
    [hunk] = proposed(decisions_on(root), new_topic("Backups run at 03:00.", "backups"))

    def reject() -> None:
        die_at(step)
        decisions_on(root).reject(hunk.id, PERSON, "no")

    code = in_child(reject)
    repair(root)

    decisions = decisions_on(root)
    assert code == -signal.SIGKILL and decisions.store.hunk(hunk.id).state is State.REJECTED
    assert decisions.store.rejections() == decisions.rejections() and len(decisions.rejections()) == 1
    assert [entry.hunk for entry in decisions.chain().entries if entry.hunk] == [hunk.id]
