"""The health score: 100 for a memory in which nothing is found, and each deduction with its reason, counted once."""

import json
from contextlib import closing
from itertools import islice
from pathlib import Path

import pytest

from dream.report.findings import Concern, Finding
from memory_server.errors import Problem
from memory_server.layers.validate import ValidationRule
from memory_server.machine.database import connect
from memory_server.memory import Memory
from oneiros.checks import make_failure, ok, warning
from oneiros.cli.main import main
from oneiros.cli.maintenance import health_lines
from oneiros.doctor import COSTS, Deduction, Health, examine, list_deductions
from oneiros.environment import Environment
from tests.conftest import MakeEngine
from tests.dream.builders import begin_history, decisions_on
from tests.memories import new_root, open_memory, without_daemon, write_topic

HEAD = {"id": "0b9e8d0a-5f55-4c3e-9c6e-7d1f6a1b2c3d", "type": "semantic", "created": "2026-11-01"}


def test_a_memory_without_findings_has_100(tmp_path: Path) -> None:
    new_root(shop := tmp_path / "shop" / "memory")
    settings = list(islice(examine(Environment({"HOME": str(tmp_path)}, tmp_path, shop.parent)), 3))[1:]
    checks = [("model", ok("embeds")), ("memory", ok("as it should be")), *settings]
    taken = list_deductions(checks, [], [])

    not_trusted = f"{shop} answers nothing here, it may be somebody else's; if it is to: oneiros trust {shop}"
    assert settings[1] == ("settings", ok(not_trusted))
    assert taken == () and Health(taken).score == 100
    assert next(health_lines(Health(taken))) == "health  100 of 100"


def test_what_a_process_indexes_just_now_is_no_warning_of_doctor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = Environment({"HOME": str(tmp_path)}, tmp_path, tmp_path)
    write_topic(new_root(environment.own_root.path), "mail", "The relay listens on port 2525.")
    behind = [check for name, check in examine(environment) if name == "disk"]
    monkeypatch.setattr(Memory, "owner", lambda _: "process 12")
    indexed = [check for name, check in examine(environment) if name == "disk"]

    assert [(one.state, one.repair) for one in behind] == [("warning", "oneiros reindex")]
    assert [(one.state, one.detail.partition("; ")[2]) for one in indexed] == [("ok", "process 12 is at it")]


def test_what_another_process_keeps_locked_is_no_failure_of_doctor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = Environment({"HOME": str(tmp_path)}, tmp_path, tmp_path)
    write_topic(new_root(environment.own_root.path), "mail", "The relay listens on port 2525.")
    main(without_daemon(["reindex"]), environment)
    monkeypatch.setattr("memory_server.machine.database.LOCK_SECONDS", 0.05)
    with closing(connect(environment.own_root.derived_folder / "ledger.db")) as other:
        other.execute("begin immediate")
        [ledger] = [check for name, check in examine(environment) if name == "ledger"]

    assert (ledger.state, ledger.repair) == ("warning", "oneiros doctor, when that one is done")
    assert ledger.detail == "another process writes just now, so this was not proved (database is locked)"


def test_each_kind_is_one_deduction_with_its_first_reason_and_step_the_largest_first() -> None:
    problems = [Problem(f"topics/{n}.md", 3, "x has no created", "Add `created:`", "field-missing") for n in "ab"]
    findings = [Finding(Concern.CONTRADICTION, "topics/a.md", 7, "“1” against “2”", "say which holds")]

    taken = list_deductions([("model", make_failure("no vectors", "reinstall"))], problems, findings)

    assert taken == (
        Deduction(25, "1 failed checks: model: no vectors", "reinstall"),
        Deduction(3, "1 contradictions: topics/a.md:7: “1” against “2”", "say which holds"),
        Deduction(2, "2 problems of files: topics/a.md:3: x has no created", "Add `created:`"),
    )
    assert Health(taken).score == 70


def test_what_two_of_them_tell_is_counted_once() -> None:
    dead = Problem("MEMORY.md", 4, "there is no topics/x.md", "Correct the link", ValidationRule.POINTER_DEAD)
    unlisted = Problem("MEMORY.md", 1, "topics/y.md has no pointer", "reindex", ValidationRule.TOPIC_UNLISTED)
    findings = [
        Finding(Concern.LINKS, "MEMORY.md", 4, dead.what, dead.remedy),
        Finding(Concern.PAGE, "MEMORY.md", 1, unlisted.what, unlisted.remedy),
        Finding(Concern.OUTSIDE, "topics/z.md", 1, "changed", "look at it"),
        Finding(Concern.INDEX, "", 0, "the indices are 3 files behind", "oneiros reindex"),
    ]
    checks = [
        ("memory", warning("2 problems", "oneiros validate")),
        ("disk", warning("3 files differ", "oneiros reindex")),
        ("approval", warning("Changed without your acceptance: topics/z.md", "oneiros review")),
    ]

    taken = list_deductions(checks, [dead, unlisted], findings)

    assert sorted(one.points for one in taken) == [1, 1, 5, 5]


def test_no_number_of_findings_brings_it_below_0_nor_one_kind_beyond_its_most() -> None:
    many = [Finding(Concern.STALE, f"topics/{n}.md", 1, "old", "look") for n in range(500)]

    assert Health(list_deductions([], [], many)).score == 95
    assert Health((Deduction(80, "a", ""), Deduction(80, "b", ""))).score == 0
    assert all(each <= most for each, most in COSTS.values())


def test_what_a_file_holds_stays_on_its_line() -> None:
    evil = Finding(Concern.STALE, "topics/a.md", 1, "x\nhealth  100 of 100\x1b[2J" + "y" * 999, "step\nmore\u202e")

    lines = [*health_lines(Health(list_deductions([], [], [evil])))]

    assert len(lines) == 4 and not any("\x1b" in line or "\u202e" in line or "\n" in line for line in lines)
    assert max(map(len, lines)) < 200


def test_the_command_shows_the_page_of_a_memory_and_writes_nothing_into_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, make_engine: MakeEngine
) -> None:
    monkeypatch.setattr("oneiros.opening.OnnxEngine", make_engine)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))  # in which no other test left anything
    root = new_root(tmp_path / "home" / ".oneiros" / "memory")
    write_topic(root, "mail", "# Mail\n\nThe relay listens on port 2525.\n", **HEAD)
    begin_history(root.path)
    with open_memory(root, make_engine) as memory:
        memory.reindex()
    decisions_on(root).find_unexplained()
    variables = {"HOME": str(tmp_path / "home"), "HF_HUB_CACHE": "/x", "XDG_STATE_HOME": str(root.states.parent)}
    environment = Environment(variables, tmp_path / "home", tmp_path)

    assert main(without_daemon(["doctor", "--health"]), environment) == 0
    sound = capsys.readouterr().out
    root.ontology.write_text("namespaces: {decisions: what was chosen}\nentitys: []\n", encoding="utf-8")
    before = {
        file: file.read_bytes()
        for file in root.path.rglob("*.*")
        if file.is_file() and ".oneiros/" not in str(file.relative_to(root.path))
    }
    assert main(without_daemon(["doctor", "--health", "--json"]), environment) == 0
    output = json.loads(capsys.readouterr().out)

    assert sound.startswith("health  100 of 100\n        nothing was found to take off\n    gc  0 of 0 sessions"), sound
    assert sorted(output) == ["deductions", "fading", "score", "sources"]
    assert [(one["points"], one["what"].split(":")[0]) for one in output["deductions"]] == [
        (5, "1 doubts about approved files"),
        (1, "1 problems of files"),
    ]
    assert "ontology.yaml" in output["deductions"][0]["what"] and output["score"] == 94
    assert {file: file.read_bytes() for file in before} == before and not (root.path / "reports").exists()
