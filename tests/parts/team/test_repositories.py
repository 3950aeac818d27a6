"""The bare repositories of tenants."""

from pathlib import Path

import pytest

from parts.team.repositories import Repositories
from tests.dream.builders import git


def test_a_repository_is_made_and_bundled_whoever_runs_us(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other").mkdir()
    git(tmp_path / "other", "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path / "other"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "other" / "index"))
    repositories = Repositories(tmp_path / "repositories")

    repositories.make(1)
    made = repositories.find(1)
    commit = made.commit({"topics/mail.md": b"# Mail\n"}, "One", "")
    made.bundle(tmp_path / "one.bundle")

    assert repositories.restore(2, tmp_path / "one.bundle").topics(commit).keys() == {"topics/mail.md"}
    assert list((tmp_path / "other" / ".git" / "refs" / "heads").iterdir()) == []
