"""Where a session is at work, read from git's files."""

import os
from pathlib import Path

import pytest

from crawler.archive.names import ProjectNames
from memory_server.root.paths import MemoryRoot
from memory_server.settings import PersonSettings
from oneiros.environment import find_top
from oneiros.hooks.whereabouts import Whereabouts, whereabouts

PERSON, MEMORY = PersonSettings(), MemoryRoot(Path("/nonexistent/memory"), Path("/nonexistent/states"))


def repository(folder: Path, head: str = "ref: refs/heads/fix/relay-port\n") -> Path:
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text(head, encoding="utf-8")
    return folder


def test_a_folder_below_a_repository_is_of_its_project(tmp_path: Path) -> None:
    folder = repository(tmp_path / "shop") / "packages" / "invoices"
    folder.mkdir(parents=True)

    where = whereabouts(str(folder), MEMORY, PERSON)

    assert (where.project, where.identity) == ("shop", str(tmp_path / "shop" / ".git"))
    assert find_top(folder) == tmp_path / "shop"


def test_a_worktree_is_of_the_project(tmp_path: Path) -> None:
    main = repository(tmp_path / "shop", "ref: refs/heads/main\n")
    own = main / ".git" / "worktrees" / "w"
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n", encoding="utf-8")
    (own / "HEAD").write_text("ref: refs/heads/till\n", encoding="utf-8")
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / ".git").write_text(f"gitdir: {own}\n", encoding="utf-8")

    where = whereabouts(str(tmp_path / "w"), MEMORY, PERSON)

    assert where.project == "shop"
    assert find_top(tmp_path / "w") == tmp_path / "w"


def test_a_pipe_in_the_place_of_a_file_of_git_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    os.mkfifo(tmp_path / "shop" / ".git" / "HEAD")

    assert whereabouts(str(tmp_path / "shop"), MEMORY, PERSON).project == "shop"


@pytest.mark.parametrize("folder", ["", "/nonexistent/garden", "/x\0y", "relative"])
def test_any_folder_is_answered(folder: str) -> None:
    assert whereabouts(folder, MEMORY, PERSON).identity in ("", "/nonexistent/garden", "/x\\u0000y")


def test_without_a_folder_nothing_is_known() -> None:
    assert whereabouts("", MEMORY, PERSON) == Whereabouts()


def test_an_alias_stands_for_a_project(tmp_path: Path) -> None:
    old = repository(tmp_path / "shop")
    person = PersonSettings(project_aliases=(f"{old}/.git=/srv/till/.git",))

    assert whereabouts(str(old), MEMORY, person).project == "till"


def test_a_second_repository_of_one_name_has_a_longer_one(tmp_path: Path) -> None:
    first, second = (repository(tmp_path / name / "shop") for name in ("a", "b"))
    memory = MemoryRoot(tmp_path / "mem", tmp_path / "states")
    ProjectNames(memory.path / "sessions" / "archive").settle([str(first / ".git")])

    assert [whereabouts(str(one), memory, PERSON).project for one in (first, second)] == ["shop", "b-shop"]
