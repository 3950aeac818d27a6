import subprocess
from pathlib import Path

import pytest

from crawler.archive.choice import Choice, Projects, git_common_directory
from memory_server.layers.sessions import project_name


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def test_worktrees_and_subfolders_are_one_project(tmp_path: Path) -> None:
    main, tree = tmp_path / "app", tmp_path / "app-fix"
    (main / "src").mkdir(parents=True)
    git(main, "init")
    git(main, "commit", "--allow-empty", "-m", "Begin")
    git(main, "worktree", "add", str(tree))

    identities = {git_common_directory(folder) for folder in (main, main / "src", tree)}

    assert identities == {(main / ".git").resolve()}
    assert project_name(str(main / ".git")) == "app"


def test_a_folder_outside_git_or_gone_is_its_own_project(tmp_path: Path) -> None:
    assert Projects().identify(str(tmp_path / "gone")) == str(tmp_path / "gone")


def test_an_alias_keeps_a_moved_project_together(tmp_path: Path) -> None:
    assert Projects({"/old/app": "/new/app"}).identify("/old/app") == "/new/app"


def test_a_memory_of_one_project_takes_no_other_in_whatever_is_allowed() -> None:
    choice = Choice(allow=("/srv",), only="/srv/app/.git")

    assert choice.takes("/srv/app/.git", "/srv/app/src")
    assert not choice.takes("/srv/shop/.git", "/srv/shop")


@pytest.mark.parametrize(
    ("allow", "deny", "taken"),
    [
        ((), (), True),
        (("/srv",), (), True),
        (("/home",), (), False),
        ((), ("/srv/app",), False),
        ((), ("/srv/ap",), True),
        (("/srv",), ("/srv/app",), False),
        (("*/app",), (), True),
        ((), ("*/secret*",), True),
    ],
)
def test_deny_wins_over_allow(allow: tuple[str, ...], deny: tuple[str, ...], taken: bool) -> None:
    assert Choice(allow, deny).takes("/srv/app/.git", "/srv/app/src") is taken


@pytest.mark.parametrize(
    ("prompt", "is_excluded"),
    [
        ("#no-memory", True),
        ("Draft the letter.\n\n  #oneiros:off\nIt is private.", True),
        ("#No-Memory\r\nand go on", True),
        ("what does #no-memory do?", False),
        ("#no-memory please", False),
        ("> #no-memory", False),
        ("- `#no-memory`", False),
        ("Our docs say:\n```\n#no-memory\n```\nIs that right?", False),
        ("Our docs say:\n\n    #no-memory\n\nIs that right?", False),
    ],
)
def test_a_mark_counts_as_a_line_of_the_prompts_own_alone(prompt: str, is_excluded: bool) -> None:
    assert Choice().is_excluded_by(prompt) is is_excluded
