"""What a team accepted outlives any kill, and the index is that of a commit of git at every moment."""

from pathlib import Path

import pytest

from tests.parts.team.kills import FAULTS, run

pytestmark = pytest.mark.team


def test_nothing_accepted_is_lost_and_the_index_is_that_of_git_whatever_is_killed(tmp_path: Path) -> None:
    found = run(tmp_path, kills=12, seed=7)

    assert set(found.struck) == set(FAULTS)
    assert (found.lost, found.torn, found.unequal) == ([], [], [])
    assert found.acknowledged > 12
