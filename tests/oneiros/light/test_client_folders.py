"""Which folders of Claude Code are read: the one that its variable names, then and later, and none of a clone."""

from pathlib import Path

import pytest

from oneiros.environment import Environment, now
from oneiros.ingest.settings import crawl_roots, waiting
from oneiros.light.client_folders import read_seen_folders
from tests.crawler.builders import person, write_transcript
from tests.memories import root_at


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    (tmp_path / ".claude").mkdir()
    return {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}


def folders(variables: dict[str, str], home: Path) -> list[str]:
    roots = crawl_roots(Environment(variables, home, home))
    return [root.folder.relative_to(home).as_posix() for root in roots]


def test_a_folder_that_was_seen_is_read_without_the_variable_too(variables: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()

    with_variable = folders({**variables, "CLAUDE_CONFIG_DIR": str(tmp_path / "work")}, tmp_path)

    assert with_variable == ["work/projects", ".claude/projects"]
    assert folders(variables, tmp_path) == [".claude/projects", "work/projects"]
    assert (tmp_path / "state" / "oneiros" / "claude-folders").stat().st_mode & 0o777 == 0o600


def test_a_place_with_two_names_is_read_once(variables: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / ".claude")

    assert folders({**variables, "CLAUDE_CONFIG_DIR": str(tmp_path / "link")}, tmp_path) == ["link/projects"]


@pytest.mark.parametrize("repository", ["clone", "clone/deep/claude"])
def test_a_folder_that_came_with_a_repository_is_not_read(
    variables: dict[str, str], tmp_path: Path, repository: str
) -> None:
    folder = tmp_path / "clone" / "deep" / "claude"
    folder.mkdir(parents=True)
    (tmp_path / repository / ".git").mkdir()
    named = {**variables, "CLAUDE_CONFIG_DIR": str(folder)}

    assert folders(named, tmp_path) == [".claude/projects"] and read_seen_folders(variables) == []
    assert Environment(named, tmp_path, tmp_path).ignored_claude_folder == str(folder)


def test_where_nothing_can_be_written_the_variable_counts_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "state").write_text("no folder", encoding="utf-8")

    assert read_seen_folders(
        {"XDG_STATE_HOME": str(tmp_path / "state"), "CLAUDE_CONFIG_DIR": str(tmp_path / "work")}
    ) == [str(tmp_path / "work")]


@pytest.mark.parametrize("name", ["a\u2028b", "a\x85b", "a\rb", "a\x0bb"])
def test_a_folder_of_any_name_is_taken_down_once(variables: dict[str, str], tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    named = {**variables, "CLAUDE_CONFIG_DIR": str(tmp_path / name)}

    assert (
        read_seen_folders(named) == read_seen_folders(named) == read_seen_folders(variables) == [str(tmp_path / name)]
    )


def test_a_line_end_in_a_name_brings_in_no_second_folder(variables: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "a\n" / "srv"
    folder.mkdir(parents=True)
    named = {**variables, "CLAUDE_CONFIG_DIR": str(folder)}

    assert read_seen_folders(named) == [str(folder)] and read_seen_folders(variables) == []


def test_of_two_folders_the_one_that_deletes_first_says_what_expires(variables: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "settings.json").write_text('{"cleanupPeriodDays": 5}', encoding="utf-8")
    write_transcript(tmp_path / "work" / "projects" / "-a", person(1, "Hello."))
    for named in (str(tmp_path / "work"), str(tmp_path / ".claude")):
        environment = Environment({**variables, "CLAUDE_CONFIG_DIR": named}, tmp_path, tmp_path)
        assert waiting(environment, root_at(tmp_path / "memory"), now()).expiring == 1
