"""Sessions at once, with kills: nothing is left over and nothing lost. And MCP to the letter of its own suite."""

import pytest

from benchmarks.client import in_house, measure_storm, run_scenarios
from tests.plugin.genuine_client import require_client

SHORT_SECONDS = 15.0
LONG_SECONDS = 60.0


@pytest.fixture(autouse=True)
def installed_client() -> None:
    require_client()


def storm(seconds: float) -> dict[str, int]:
    return in_house(lambda house: measure_storm(house, seconds))


@pytest.mark.client
@pytest.mark.timeout(900)
def test_a_storm_of_sessions_with_kills_leaves_no_process_and_loses_no_turn() -> None:
    found = storm(SHORT_SECONDS)

    assert found["kills"] > 0 and found["sessions"] >= 10
    assert (found["orphans"], found["lost_turns"]) == (0, 0)


@pytest.mark.stress
def test_a_minute_of_ten_sessions_with_kills_leaves_no_process_and_loses_no_turn() -> None:
    found = storm(LONG_SECONDS)

    assert found["kills"] > 0 and found["sessions"] >= 10
    assert (found["orphans"], found["lost_turns"]) == (0, 0)


@pytest.mark.client
@pytest.mark.timeout(900)
def test_the_conformance_suite_and_the_inspector_pass_against_the_daemon() -> None:
    scenarios = in_house(run_scenarios)

    assert [name for name, has_passed in scenarios.items() if not has_passed] == []
