"""The bare git repositories of the tenants: what each team knows, as Markdown. All else is made of them.

A repository is named by the number of its tenant, so that no name of a person's becomes a path. What is checked out of
one is data: ordinary Markdown files under plain names, written by us, so that no filter, attribute, link or hook of a
commit has any effect.
"""

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from dream.decisions.repository import Repository
from memory_server.errors import NeedsRepair
from memory_server.machine.files import make_folder, replace_file
from memory_server.root.git import SECONDS, run_git
from parts.team.errors import Unfit

AT_ONCE = 1_000  # files that are read from git in one step
BRANCH = "main"
LOCKS = ("HEAD.lock", f"refs/heads/{BRANCH}.lock", "packed-refs.lock")
CONFIGURED = (
    ("core.fsync", "committed"),
    ("core.filesRefLockTimeout", "1000"),  # ms: a push holds the branch for a moment
    ("user.name", "oneiros"),
    ("user.email", "oneiros@localhost"),
    ("receive.denyNonFastForwards", "true"),  # a push adds, and takes nothing away
    ("receive.denyDeletes", "true"),
)

Files = Mapping[str, bytes | None]  # by path; None: removed


@dataclass(frozen=True, slots=True)
class TeamRepository:
    """One tenant's repository."""

    folder: Path

    @property
    def git(self) -> Repository:
        return Repository(self.folder, self.folder, self.folder, "", is_bare=True)

    def head(self) -> str:
        """The newest commit; empty where there is none yet."""
        return self.git.head()

    def newest(self) -> str:
        """The newest commit. Raises Unfit where there is none yet."""
        if found := self.head():
            return found
        raise Unfit("the tenant has no commit yet", remedy="Fill it with `oneiros-team migrate` or a push")

    def commit(self, files: Files, message: str, onto: str) -> str:
        """Puts a commit on the branch, flushed to the disk. Raises NeedsRepair where that does not stand at `onto`.

        Call it under the lock of `outbox.py`: a lock file that a kill left is taken away once no git can hold it.
        """
        for name in LOCKS:
            file = self.folder / name
            if file.exists() and time.time() - file.stat().st_mtime > SECONDS:
                file.unlink(missing_ok=True)
        with tempfile.TemporaryDirectory(prefix="oneiros-") as scratch:
            return self.git.commit(files, message, Path(scratch), onto)

    def topics(self, commit: str) -> dict[str, str]:
        """The Markdown files of a commit that a memory may be made of, each as the id of its content."""
        return {path: blob for path, blob in self.git.files(commit).items() if is_plain(path)}

    def holds(self, files: Files, commit: str) -> bool:
        """Whether the Markdown files of a commit are these."""
        return self.topics(commit) == {path: _blob(content or b"") for path, content in files.items()}

    def check_out(self, commit: str, folder: Path) -> None:
        """Makes the Markdown files below a folder those of a commit; what did not change is not touched."""
        wanted = self.topics(commit)
        there = {path: file for path, file in _list_files(folder).items() if is_plain(path)}
        for path in there.keys() - wanted.keys():
            there[path].unlink()
            _remove_empty(there[path].parent, folder)
        stale = sorted(
            path for path, blob in wanted.items() if path not in there or _blob(there[path].read_bytes()) != blob
        )
        for paths in (stale[at : at + AT_ONCE] for at in range(0, len(stale), AT_ONCE)):
            for path, content in zip(paths, self.git.contents([wanted[path] for path in paths]), strict=True):
                make_folder((folder / path).parent)
                replace_file(folder / path, content)

    def bundle(self, file: Path) -> None:
        """Writes all of the history into one file, which `git clone` reads; git has checked it."""
        for words in (("create", "--quiet", str(file.resolve()), "--all"), ("verify", "--quiet", str(file.resolve()))):
            _run_git(self.folder, "--git-dir=.", "bundle", *words)


class Repositories:
    """The repositories of a server, in one folder."""

    def __init__(self, folder: Path):
        self.folder = folder

    def find(self, tenant: int) -> TeamRepository:
        """A tenant's repository, which may not be made yet."""
        return TeamRepository(self.folder / f"{tenant}.git")

    def make(self, tenant: int) -> None:
        """Makes a tenant's repository where there is none."""
        if not (self.find(tenant).folder / "HEAD").exists():
            self._take(tenant, ("init", "--quiet", "--bare", f"--initial-branch={BRANCH}"))

    def restore(self, tenant: int, bundle: Path) -> TeamRepository:
        """Makes a tenant's repository of a bundle. Raises NeedsRepair where there is one, or the bundle is none."""
        if (self.folder / f"{tenant}.git").exists():
            raise NeedsRepair("the tenant has a repository", where=self.folder / f"{tenant}.git", remedy="Move it away")
        from_file = ("-c", "protocol.file.allow=always")
        self._take(tenant, (*from_file, "clone", "--quiet", "--bare", "--no-hardlinks", str(bundle.resolve())))
        return self.find(tenant)

    def retire(self, tenant: int) -> None:
        """Takes a tenant's repository out of use, in one step; `remove_retired` removes it."""
        place = self.folder / f"{tenant}.git"
        if place.exists():
            place.rename(self.folder / f"{tenant}.{time.time_ns()}.purged")

    def remove_retired(self) -> None:
        """Removes what `retire` took out of use, also before a kill."""
        for place in self.folder.glob("*.purged"):
            shutil.rmtree(place)

    def _take(self, tenant: int, command: Sequence[str]) -> None:
        """Makes a repository beside its place and moves it there whole."""
        make_folder(self.folder)
        with tempfile.TemporaryDirectory(dir=self.folder) as scratch:
            made = Path(scratch, "made")
            _run_git(self.folder, *command, str(made.resolve()))
            for key, value in CONFIGURED:
                _run_git(made, "--git-dir=.", "config", key, value)
            try:
                made.rename(self.folder / f"{tenant}.git")
            except OSError:  # another process was quicker
                if not (self.folder / f"{tenant}.git" / "HEAD").exists():
                    raise


def is_plain(path: str) -> bool:
    """Whether a name of a commit is that of a Markdown file which may be written below a folder."""
    parts = PurePosixPath(path).parts
    is_text = path.isprintable() and "\\" not in path and not path.startswith("/")
    return is_text and path.endswith(".md") and not any(part.startswith(".") for part in parts)


def _list_files(folder: Path) -> dict[str, Path]:
    found = {}
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            found[Path(place, name).relative_to(folder).as_posix()] = Path(place, name)
    return found


def _remove_empty(place: Path, above: Path) -> None:
    """Removes a folder and those it lies in, up to one, as long as they hold nothing."""
    with suppress(OSError):  # it holds something
        while place != above:
            place.rmdir()
            place = place.parent


def _blob(content: bytes) -> str:
    """The id that git gives to the content of a file."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _run_git(folder: Path, *words: str) -> None:
    """Runs git to its end. Raises NeedsRepair with what it said where it fails."""
    done = run_git(folder, words, seconds=10 * SECONDS)
    if done.returncode:
        complaint = done.stderr.decode("utf-8", "replace").strip()
        raise NeedsRepair(f"git failed ({complaint})", remedy="Mend that, then try again")
