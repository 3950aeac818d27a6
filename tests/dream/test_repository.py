"""git as acceptances use it: of a folder that came from elsewhere it runs nothing."""

import datetime as dt
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from dream.decisions.repository import find_repository
from dream.topics import read_commit_days
from memory_server.errors import ContentError, NeedsRepair
from memory_server.root.state import make_state
from memory_server.search.as_of import read_past_topics
from tests.dream.builders import PERSON, archive_statements, decisions_on, new_topic, proposed
from tests.memories import new_root, write_topic


def test_the_settings_of_a_bare_repository_among_the_files_of_a_clone_are_not_followed(tmp_path: Path) -> None:
    root = new_root(tmp_path / "memory")
    for name in ("objects", "refs"):
        (root.path / name).mkdir()
    (root.path / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    core = f'worktree = {root.path}\n\tfsmonitor = "touch {tmp_path}/ran; false"\n'
    (root.path / "config").write_text(
        f"[core]\n\trepositoryformatversion = 0\n\tbare = false\n\t{core}", encoding="utf-8"
    )
    subprocess.run(["git", "-C", str(root.path), "status"], capture_output=True, check=False)
    assert (tmp_path / "ran").exists(), "git itself is not moved by these settings, so nothing is shown here"
    (tmp_path / "ran").unlink()

    make_state(root)
    decisions_on(root).find_unexplained()

    assert find_repository(root.path) is None
    assert not (tmp_path / "ran").exists()


SIGNED = "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n -----END PGP SIGNATURE-----\n\n"


class Unpacked:
    """A memory that came as a folder with its `.git`, whose settings name programs for whatever git does."""

    def __init__(self, folder: Path):
        self.ran = folder / "ran"
        self.ran.mkdir()
        self.root = new_root(folder / "memory")
        write_topic(self.root, "mail", "# Mail\n\nThe relay listens on port 2525.\n")
        self.git("init", "--quiet")
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", "one")
        head, _, message = self.git("cat-file", "commit", "HEAD").partition("\n\n")
        signed = self.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=head + SIGNED + message)
        self.git("update-ref", "HEAD", signed)
        for key, value in {
            "log.showSignature": "true",
            "gpg.program": self.program("gpg"),
            "core.repositoryformatversion": "1",
            "extensions.partialClone": "origin",
            "remote.origin.promisor": "true",
            "remote.origin.url": str(folder),
            "remote.origin.uploadpack": self.program("uploadpack"),
            "protocol.file.allow": "always",
        }.items():
            self.git("config", key, value)

    def program(self, name: str) -> str:
        """A program that leaves its name when it is run."""
        file = self.ran.parent / name
        file.write_text(f"#!/bin/sh\ntouch {self.ran}/{name}\ncat\n", encoding="utf-8")
        file.chmod(0o755)
        return str(file)

    def git(self, *words: str, stdin: str = "") -> str:
        names = ("-c", "user.name=Ada", "-c", "user.email=ada@localhost")
        command = ["git", "-C", str(self.root.path), *names, *words]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, check=True).stdout.strip()

    def did_run(self) -> list[str]:
        """The programs that were run, in order of their names."""
        return sorted(file.name for file in self.ran.iterdir())


@pytest.fixture
def unpacked(tmp_path: Path) -> Unpacked:
    return Unpacked(tmp_path)


def test_no_program_that_looks_at_signatures_is_run(unpacked: Unpacked) -> None:
    unpacked.git("log", "-1")
    assert unpacked.did_run() == ["gpg"], "git itself is not moved by these settings, so nothing is shown here"
    (unpacked.ran / "gpg").unlink()

    assert read_commit_days(unpacked.root).keys() == {"topics/mail.md"}
    repository = find_repository(unpacked.root.path)
    assert repository is not None and repository.versions("topics/mail.md", 9)
    assert not repository.has_commits_of_assistant() and not repository.is_assistants("topics/mail.md")
    assert unpacked.did_run() == []


def test_no_program_fetches_what_is_missing(unpacked: Unpacked) -> None:
    blob = unpacked.git("rev-parse", "HEAD:topics/mail.md")
    (unpacked.root.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()

    with suppress(ContentError):  # by git's version it is missing, or ends the question
        read_past_topics(unpacked.root.path, dt.date(2100, 1, 1))
    repository = find_repository(unpacked.root.path)
    assert repository is not None and repository.text("topics/mail.md") is None
    assert unpacked.did_run() == []


@pytest.mark.parametrize("name", ["evil", "a=b", "Evil.Twin"])
def test_no_filter_of_a_repositorys_own_is_run_and_nothing_is_committed_past_it(unpacked: Unpacked, name: str) -> None:
    root = unpacked.root
    archive_statements(root, "Backups run at 03:00.")
    hunk = proposed(decisions_on(root), new_topic("Backups run at 03:00.", "backups"))[0]
    unpacked.git("config", f"filter.{name}.clean", unpacked.program("clean"))
    (root.path / ".gitattributes").write_text(f"*.md filter={name}\n", encoding="utf-8")
    unpacked.git("hash-object", "topics/mail.md")
    assert unpacked.did_run() == ["clean"], "git itself is not moved by these settings, so nothing is shown here"
    (unpacked.ran / "clean").unlink()

    decisions = decisions_on(root)
    decisions.find_unexplained()
    with pytest.raises(NeedsRepair, match="own settings name"):
        decisions.accept(hunk.id, PERSON)

    assert unpacked.did_run() == []
    assert not (root.topics / "backups.md").exists() and not root.journal.exists()


def test_a_filter_of_the_persons_own_is_run(unpacked: Unpacked, monkeypatch: pytest.MonkeyPatch) -> None:
    """git-crypt or LFS, as the person's own settings name them: what is committed is what git would commit."""
    settings = unpacked.ran.parent / "gitconfig"
    settings.write_text(f'[filter "own"]\n\tclean = {unpacked.program("clean")}\n', encoding="utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    (unpacked.root.path / ".gitattributes").write_text("*.md filter=own\n", encoding="utf-8")
    repository = find_repository(unpacked.root.path)

    assert repository is not None
    assert repository.holds("topics/mail.md", (unpacked.root.topics / "mail.md").read_bytes())
    assert unpacked.did_run() == ["clean"]
