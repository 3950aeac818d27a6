"""What doctor says of other agents."""

from pathlib import Path

import pytest

from crawler.archive.append import ArchiveReport, Ingester
from memory_server.completeness import SkipKind, Skipped
from memory_server.settings_file import change_setting
from oneiros.environment import Environment
from oneiros.ingest.settings import ingest_settings, list_skipped
from parts.agents.checks import check_agents, is_newer
from parts.agents.table import SOURCES
from tests.memories import new_root
from tests.parts.agents.builders import codex, make_message, rollout


def run_checks(home: Path, *, reads: bool = True) -> list[tuple[str, str]]:
    environment = Environment({"ONEIROS_ROOT": str(home / "mem")}, home, home)
    root = environment.choice.root
    if reads:
        with Ingester(ingest_settings(environment, root)) as ingester:
            ingester.ingest_source(SOURCES["codex"], [home / ".codex"], ArchiveReport())
    return [(check.state, check.detail) for check in check_agents(environment, root)]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    new_root(tmp_path / "mem")
    return tmp_path


def test_without_a_store_there_is_nothing_to_say(home: Path) -> None:
    assert run_checks(home, reads=False) == [("ok", "no other agent keeps conversations here")]


def test_a_store_is_named_before_anything_of_it_is_read(home: Path) -> None:
    rollout(home / ".codex", make_message("user", 1, "Hello."))

    [(state, detail)] = run_checks(home, reads=False)

    assert state == "ok" and f"Codex CLI: store found, {home}/.codex, 1 file, 0 read" in detail


def test_unknown_types_are_named_with_how_many(home: Path) -> None:
    rollout(home / ".codex", make_message("user", 1, "Hello."), codex("hologram", 2), codex("hologram", 3))

    [(state, detail)] = run_checks(home)

    assert (
        state == "warning" and "1 file, 1 read, newest version seen 0.160.0, reader made from 0.50 to 0.169" in detail
    )
    assert detail.endswith("unknown types: hologram (2)")


def test_what_is_left_unread_of_a_chosen_agent_is_a_warning(home: Path) -> None:
    rollout(home / ".codex", make_message("user", 1, "Hello."))
    change_setting(home / ".config" / "oneiros" / "config.toml", "agents", ["codex"])

    assert [state for state, _ in run_checks(home, reads=False)] == ["warning"]
    assert [state for state, _ in run_checks(home)] == ["ok"]


def test_a_newer_version_than_the_reader_was_made_from_is_a_warning(home: Path) -> None:
    rollout(home / ".codex", make_message("user", 1, "Hello."), cli_version="0.170.1")

    assert [state for state, _ in run_checks(home)] == ["warning"]
    assert not is_newer("0.169.3", "0.50 to 0.169") and not is_newer("", "0.50 to 0.169")


def test_lines_of_an_agent_that_hold_no_record_are_told_as_those_of_a_transcript(home: Path) -> None:
    file = rollout(home / ".codex", make_message("user", 1, "Hello."))
    file.write_bytes(file.read_bytes() + b"torn {\n[1\n")
    run_checks(home)

    environment = Environment({"ONEIROS_ROOT": str(home / "mem")}, home, home)

    assert list_skipped(environment, environment.choice.root) == [Skipped(SkipKind.LINE, str(file), 2)]
