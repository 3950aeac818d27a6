"""Visits of other machines that do not come about: the sessions here are taken in all the same."""

from pathlib import Path

import pytest
from filelock import FileLock

from memory_server.settings_file import change_setting
from oneiros.environment import Environment, now
from oneiros.ingest.run import Wanted, run_ingest, scan_references
from parts.machines.visits import machines_json
from tests.crawler.builders import SESSION, working_session, write_transcript


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    (tmp_path / "mem").mkdir()
    (tmp_path / "mem" / "MEMORY.md").write_text("# Memory\n", encoding="utf-8")
    write_transcript(tmp_path / ".claude" / "projects" / "-srv-app", *working_session())
    found = Environment({"PATH": str(tmp_path / "bin"), "ONEIROS_ROOT": str(tmp_path / "mem")}, tmp_path, tmp_path)
    change_setting(found.person_file, "machines", ["laptop=ssh://laptop"])
    return found


def test_a_visit_under_way_elsewhere_is_named_and_not_waited_for(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parts.machines.visits.LOCK_SECONDS", 0.0)
    root = environment.choice.root
    root.state.mkdir(parents=True)
    table = {"name": "notes", "roots": ["~/notes"], "machine": "laptop"}
    change_setting(environment.person_file, "references", [table])
    fresh = Environment(environment.variables, environment.home, environment.home)

    with FileLock(root.state / "machines.lock"):
        outcome = run_ingest(fresh, root, Wanted(), now())
        references = scan_references(fresh, root)

    assert [problem.what for problem in outcome.problems] == ["another ingest is fetching from your machines"]
    assert {session for report in outcome.reports for session in report.ingest.sessions} == {SESSION}
    assert "another ingest is fetching" in references.problems[0]


def test_a_machine_without_ssh_is_one_that_cannot_be_reached(environment: Environment) -> None:
    root = environment.choice.root

    outcome = run_ingest(environment, root, Wanted(), now())
    here = run_ingest(environment, root, Wanted(places="here"), now())

    assert "laptop cannot be reached (ssh cannot be started" in str(outcome.problems[0])
    assert {session for report in outcome.reports for session in report.ingest.sessions} == {SESSION}
    assert here.problems == []
    assert machines_json(environment, root, now())[0]["seen"] == ""


def test_a_machine_of_references_that_the_settings_do_not_name_is_said_so(environment: Environment) -> None:
    table = {"name": "notes", "roots": ["~/notes"], "machine": "phone"}
    change_setting(environment.person_file, "references", [table])
    fresh = Environment(environment.variables, environment.home, environment.home)

    report = scan_references(fresh, fresh.choice.root)

    assert report.problems == ["references notes: there is no machine phone in your settings."]
    assert report.barren == ["nothing was taken of notes: ~/notes"]
