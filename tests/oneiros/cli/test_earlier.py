"""A memory that an earlier version left goes on under this one, with nothing lost and nothing to repair by hand."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from oneiros.cli.main import main
from oneiros.environment import Environment
from tests.earlier import ACCEPTED, SESSIONS, UNANSWERED, VERSIONS, WITH_STATE, unpack

Oneiros = Callable[..., tuple[int, str, str]]
of_those_with_state = pytest.mark.parametrize("root", WITH_STATE, indirect=True)


@pytest.fixture(params=VERSIONS)
def root(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    return unpack(request.param, tmp_path)


@pytest.fixture
def oneiros(tmp_path: Path, root: Path, capsys: pytest.CaptureFixture[str]) -> Oneiros:
    """Runs one command in that home: exit code, stdout, stderr."""

    def run(*arguments: str) -> tuple[int, str, str]:
        variables = {"HOME": str(tmp_path), "HF_HUB_CACHE": str(tmp_path / "hub"), "XDG_RUNTIME_DIR": str(tmp_path)}
        code = main(list(arguments), Environment(variables, tmp_path, tmp_path))
        out, error = capsys.readouterr()
        return code, out, error

    return run


def read_own_files(root: Path) -> dict[str, bytes]:
    """The files that nobody could derive again, by their path."""
    files = {str(path.relative_to(root)): path for path in root.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in files.items() if not name.startswith((".git/", ".oneiros/"))}


@pytest.mark.parametrize(
    "command",
    ["status", "recall --no-daemon relay", "exact --no-daemon 2526", "queries", "doctor", "reindex", "archive verify"],
)
def test_each_command_may_be_the_first_after_an_upgrade(oneiros: Oneiros, command: str) -> None:
    code, out, error = oneiros(*command.split())

    assert code == 0, out + error
    assert "indices have format" not in out + error


def test_what_was_known_is_still_there(oneiros: Oneiros) -> None:
    found = json.loads(oneiros("recall", "--no-daemon", "which port does the relay use", "--json")[1])["hits"]
    checks = {check["check"]: check["state"] for check in json.loads(oneiros("doctor", "--json")[1])["checks"]}

    assert found[0]["path"] == "topics/mail.md" and ACCEPTED in found[0]["passage"]
    assert [hit["path"] for hit in found if SESSIONS[0][:8] in hit["path"]] != []
    assert checks["approval"] == "ok" and "failed" not in checks.values()


@of_those_with_state
def test_what_was_asked_and_approved_is_still_there(oneiros: Oneiros) -> None:
    queries = json.loads(oneiros("queries", "--json")[1])["queries"]

    assert UNANSWERED in [row["query"] for row in queries]
    assert "approved 2026-11-28" in oneiros("dream", "blame", "mail:2")[1]


def test_nothing_is_changed_that_could_not_be_derived_again(oneiros: Oneiros, root: Path, tmp_path: Path) -> None:
    before, states = read_own_files(root), tmp_path / ".local" / "state" / "oneiros"
    kept = {file.name: file.read_bytes() for file in states.glob("*/approvals.jsonl")}

    for command in (["status"], ["recall", "--no-daemon", "relay"], ["doctor"], ["reindex"], ["review", "--list"]):
        oneiros(*command)

    after = read_own_files(root)
    if not kept:
        after.pop("proposals/decisions.jsonl")  # the chain that begins
    assert after == before
    assert kept.items() <= {file.name: file.read_bytes() for file in states.glob("*/approvals.jsonl")}.items()


def test_conversations_that_were_taken_in_are_not_taken_in_again(oneiros: Oneiros, root: Path) -> None:
    before = {name: content for name, content in read_own_files(root).items() if name.startswith("sessions/")}

    code, _, error = oneiros("ingest")

    assert code == 0, error
    after = {name: content for name, content in read_own_files(root).items() if name.startswith("sessions/")}
    read = [name for name in after if name.startswith("sessions/readings/")]  # by rules, of those that nobody read
    assert {name: content for name, content in after.items() if name not in read or name in before} == before
    assert len(read) == len([name for name in before if name.startswith("sessions/archive/sessions/")]) > 0
