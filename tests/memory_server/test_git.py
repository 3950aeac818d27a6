"""git is asked about the folder that is meant, whoever runs us."""

from pathlib import Path

import pytest

from memory_server.root.git import ask_git, is_in_repository, run_git, split_batch
from memory_server.root.state import list_tracked_paths
from tests.dream.builders import begin_history
from tests.memories import new_root, write_topic


def test_what_a_hook_of_another_repository_leaves_us_leads_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, other = new_root(tmp_path / "memory"), new_root(tmp_path / "other")
    write_topic(root, "mail", "# Mail\n\n- The relay listens on port 2525.\n")
    (root.path / ".oneiros").mkdir(exist_ok=True)
    (root.path / ".oneiros" / "token").write_text("planted", encoding="utf-8")
    write_topic(other, "backups", "# Backups\n")
    for folder in (root.path, other.path):
        begin_history(folder)
    run_git(root.path, ("add", "--force", ".oneiros/token"))
    monkeypatch.setenv("GIT_DIR", str(other.path / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other.path))

    assert list_tracked_paths(root.path, (".oneiros",)) == {".oneiros/token"}
    assert ask_git(root.path, "ls-files", "--", "topics") == "topics/mail.md\n"


def test_a_folder_that_a_link_leads_to_lies_in_the_repository_that_holds_it(tmp_path: Path) -> None:
    (tmp_path / "project" / ".git").mkdir(parents=True)
    (tmp_path / "project" / "memory").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "project" / "memory")

    assert is_in_repository(tmp_path / "link") and not is_in_repository(tmp_path)


def test_what_git_refuses_is_nothing(tmp_path: Path) -> None:
    assert ask_git(tmp_path, "rev-parse", "HEAD") is None


def test_contents_are_told_from_what_is_missing() -> None:
    printed = b"a1 blob 4\none\n\nHEAD:./a b.md missing\nb2 blob 0\n\nc3 blob 3\ntwo\n"

    assert list(split_batch(printed, 4)) == [b"one\n", b"", b"", b"two"]
