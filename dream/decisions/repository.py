"""git, as far as accepting needs it: is the repository at rest, what does HEAD hold, commit these files alone.

The repository lies around a memory, or is a bare one of a team. A commit is built beside the person's index and put on
the branch in one step, so that nothing else is taken along, no hook of the repository runs, and a kill leaves the
branch at the old or the new commit.
"""

import datetime as dt
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from memory_server.errors import NeedsRepair
from memory_server.root.git import NONE_MORE, is_in_repository, run_git, split_batch

UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
}
LOCKS = ("index.lock", "HEAD.lock")  # of a git command that writes, or of one that was killed
LOCK_SECONDS, LOOK_SECONDS = 3.0, 0.05
ASSISTANT_LINES = ("co-authored-by: claude", "claude-session:")  # of the messages that Claude Code writes
ASSISTANT_ADDRESS = "noreply@anthropic.com"  # of its commits, where it is named as their author
OWN_NAME = {"NAME": "oneiros", "EMAIL": "oneiros@localhost"}  # where git knows nobody
FILTER = r"^filter\..*\.(clean|process)$"


@dataclass(frozen=True, slots=True)
class Version:
    """One commit that changed a file."""

    commit: str
    at: dt.datetime
    author: str
    subject: str


@dataclass(frozen=True)
class Repository:
    """The repository that a folder lies in."""

    folder: Path  # the memory root; paths are relative to it
    top: Path
    git_folder: Path
    prefix: str  # of the folder's paths, from the top
    is_bare: bool = False

    @cached_property
    def own_filters(self) -> frozenset[str]:
        """The programs for its files that its own settings name, not the person's; none of them is run."""
        if self.is_bare:
            return frozenset()
        words = (self._ask("config", "--show-scope", "--name-only", "-z", "--get-regexp", FILTER) or "").split("\0")
        found = zip(words[::2], words[1::2], strict=False)
        own = (key for scope, key in found if scope in ("local", "worktree"))
        return frozenset(key.split(".", 1)[1].rpartition(".")[0] for key in own)

    @property
    def is_own(self) -> bool:
        """Whether the memory is the whole of it, rather than a folder of a project."""
        return self.top.resolve() == self.folder.resolve()

    def under_way(self) -> str:
        """What the person is in the middle of: a merge, a rebase; empty where nothing is."""
        return next((what for name, what in UNDER_WAY.items() if (self.git_folder / name).exists()), "")

    def list_conflicts(self) -> list[str]:
        """The files of the memory in which a merge left both sides, until the person has chosen."""
        listed = self._ask("diff", "--name-only", "--diff-filter=U", "--relative", "-z") or ""
        return [path for path in listed.split("\0") if path]

    def head(self) -> str:
        """The id of the last commit; empty where there is none yet."""
        return self._ask("rev-parse", "--quiet", "--verify", "HEAD^{commit}") or ""

    def holds(self, path: str, content: bytes) -> bool:
        """Whether the last commit holds this file with this content, as far as no filter of its own is needed."""
        if self._find_filtered([path]):
            return False
        committed = self._ask("rev-parse", "--quiet", "--verify", f"HEAD:{self.prefix}{path}")
        return bool(committed) and committed == self._ask("hash-object", "--path", path, "--stdin", data=content)

    def text(self, path: str, commit: str = "HEAD") -> str | None:
        """What a commit holds under this name, by default the last one; None where it holds nothing, or no text."""
        done = self._run(("cat-file", "blob", f"{commit}:{self.prefix}{path}"))
        try:
            return done.stdout.decode("utf-8") if done.returncode == 0 else None
        except UnicodeDecodeError:
            return None

    def clean(self, paths: Sequence[str]) -> frozenset[str]:
        """Which of these files are on the disk exactly as the last commit holds them, in two questions to git."""
        listed = self._ask("ls-tree", "-z", "HEAD", "--", *paths) or ""
        committed = {}
        for row in listed.split("\0"):
            what, _, path = row.partition("\t")
            committed[path] = what.split(" ")[-1]
        present = [path for path in paths if path in committed and (self.folder / path).is_file()]
        filtered = self._find_filtered(present)
        present = [path for path in present if path not in filtered]
        names = "".join(f"{path}\n" for path in present if "\n" not in path)
        hashes = (self._ask("hash-object", "--stdin-paths", data=names.encode()) or "").splitlines()
        if len(hashes) != len(present):
            return frozenset()
        return frozenset(path for path, found in zip(present, hashes, strict=True) if committed[path] == found)

    def has_commits_of_assistant(self) -> bool:
        """Whether the assistant seems to have made any commit of this branch."""
        by_words = [f"--grep={mark}" for mark in ASSISTANT_LINES]
        if self._ask("log", "-1", "-i", "--fixed-strings", "--format=%H", *by_words):
            return True
        return ASSISTANT_ADDRESS in (self._ask("log", "--format=%an %ae %cn %ce") or "").casefold()

    def is_assistants(self, path: str) -> bool:
        """Whether the last commit that touched a file says itself that the assistant made it."""
        addresses, _, message = self._last(path, "%ae %ce%n%B").casefold().partition("\n")
        return ASSISTANT_ADDRESS in addresses.split() or any(mark in message for mark in ASSISTANT_LINES)

    def has_touched(self, path: str) -> bool:
        """Whether any commit of this branch touched a file."""
        return bool(self._last(path, "%H"))

    def versions(self, path: str, most: int, day: dt.date | None = None) -> list[Version]:
        """The commits of this branch that changed a file, the newest first; with a day those until its end."""
        until = [f"--before={day.isoformat()}T23:59:59"] if day else []
        log = self._ask("log", f"-{most}", "--format=%H%x09%cI%x09%an%x09%s", *until, "--", path) or ""
        rows = (line.split("\t", 3) for line in log.splitlines())
        return [Version(row[0], dt.datetime.fromisoformat(row[1]), row[2], row[3]) for row in rows if len(row) == 4]

    def _last(self, path: str, form: str) -> str:
        return self._ask("log", "-1", f"--format={form}", "--", path) or ""

    def list_committed(self, folder: str) -> set[str]:
        """The Markdown files that the last commit holds below a folder."""
        listed = self._ask("ls-tree", "-r", "-z", "--name-only", "HEAD", "--", folder) or ""
        return {path for path in listed.split("\0") if path.endswith(".md")}

    def has(self, path: str) -> bool:
        """Whether the last commit holds this file."""
        return self._ask("rev-parse", "--quiet", "--verify", f"HEAD:{self.prefix}{path}") is not None

    def ignores(self, path: str) -> bool:
        return self._ask("check-ignore", "--no-index", "--", path) is not None

    def files(self, commit: str) -> dict[str, str]:
        """The ordinary files of a commit by their paths, each as the id of its content."""
        listed = self._read_output(("ls-tree", "-r", "-z", "--full-tree", commit)).decode("utf-8", "surrogateescape")
        rows = (row.partition("\t") for row in listed.split("\0") if row)
        return {path: what.split(" ")[2] for what, _, path in rows if what.startswith("100")}

    def contents(self, ids: Sequence[str]) -> Iterator[bytes]:
        """What lies behind some of these ids, in their order; read all at once."""
        batch = self._read_output(("cat-file", "--batch"), "".join(f"{one}\n" for one in ids).encode()) if ids else b""
        return split_batch(batch, len(ids))

    def find_commit(self, mark: str) -> str:
        """The commit of this branch in whose message a text stands; empty where there is none."""
        return self._ask("log", "-1", "--format=%H", "--fixed-strings", f"--grep={mark}") or ""

    def commit(self, files: Mapping[str, bytes | None], message: str, scratch: Path, onto: str | None = None) -> str:
        """Commits these files with this content (None: removed) and nothing else; returns the id of the commit.

        `scratch` is a folder of ours for the index it is built in. `onto`: the last commit, as whoever made the files
        of it knows it. Raises NeedsRepair where git refuses, or the branch stands elsewhere.
        """
        old = self.head() if onto is None else onto
        index = {"GIT_INDEX_FILE": str(scratch / "commit-index")}
        (scratch / "commit-index").unlink(missing_ok=True)
        self._do("read-tree", old or "--empty", more=index)
        entries = [self._entry(path, content) for path, content in files.items()]
        self._do("update-index", "--add", "--index-info", data=b"".join(entries), more=index)
        tree = self._do("write-tree", more=index)
        parent = ["-p", old] if old else []
        made = self._do("commit-tree", tree, *parent, "-F", "-", data=message.encode(), more=self._names())
        subject = message.partition("\n")[0]
        self._do("update-ref", "-m", f"oneiros: {subject}", "HEAD", made, old or "0" * 40)
        (scratch / "commit-index").unlink(missing_ok=True)
        return made

    def refresh_index(self, files: Mapping[str, bytes | None]) -> None:
        """Tells the person's own index of these files, so that they do not seem to be staged backwards."""
        entries = [self._entry(path, content) for path, content in files.items()]
        self._do("update-index", "--add", "--index-info", data=b"".join(entries))
        if not self.own_filters:  # which would be run over the files of others too
            self._ask("update-index", "-q", "--refresh")  # exits 1 where other files have changed

    def _entry(self, path: str, content: bytes | None) -> bytes:
        """One line of `update-index --index-info`; its paths count from the top."""
        whole = f"{self.prefix}{path}".encode()
        if content is None:
            return b"0 " + b"0" * 40 + b"\t" + whole + b"\n"
        self.require_unfiltered([path])
        blob = self._do("hash-object", "-w", "--path", path, "--stdin", data=content)
        return f"100644 {blob}\t".encode() + whole + b"\n"

    def require_unfiltered(self, paths: Sequence[str]) -> None:
        """Raises NeedsRepair where a file to be committed goes through a filter of the repository's own."""
        for path in sorted(self._find_filtered(paths)):
            if not self.ignores(path):
                what = f"git would run a program over {path} that the repository's own settings name"
                remedy = "If it is yours, move it to ~/.gitconfig (`git config --global filter.NAME.clean ...`)"
                raise NeedsRepair(what, where=self.git_folder / "config", remedy=remedy)

    def _find_filtered(self, paths: Sequence[str]) -> frozenset[str]:
        """Which of these files go through a filter of the repository's own."""
        if not (self.own_filters and paths):
            return frozenset()
        fields = self._read_output(("check-attr", "-z", "--stdin", "filter"), "\0".join(paths).encode()).split(b"\0")
        found = zip(fields[::3], fields[2::3], strict=False)  # path, attribute, value
        return frozenset(path.decode() for path, value in found if value.decode("utf-8", "replace") in self.own_filters)

    def _names(self) -> dict[str, str]:
        """Names for a commit, where the person has told git none."""
        if self._ask("var", "GIT_COMMITTER_IDENT") and self._ask("config", "user.email"):
            return {}
        return {f"GIT_{who}_{key}": name for who in ("AUTHOR", "COMMITTER") for key, name in OWN_NAME.items()}

    def _ask(self, *arguments: str, data: bytes = b"") -> str | None:
        """What git prints; None where it exits with anything but 0."""
        done = self._run(arguments, data)
        return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else None

    def _do(self, *arguments: str, data: bytes = b"", more: Mapping[str, str] = NONE_MORE) -> str:
        return self._read_output(arguments, data, more).decode("utf-8", "replace").strip()

    def _read_output(self, arguments: Sequence[str], data: bytes = b"", more: Mapping[str, str] = NONE_MORE) -> bytes:
        done = self._run(arguments, data, more)
        if done.returncode:
            complaint = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
            what = f"git {arguments[0]} failed ({complaint})"
            raise NeedsRepair(what, where=self.top, remedy="Mend that, then try again")
        return done.stdout

    def _run(
        self, arguments: Sequence[str], data: bytes = b"", more: Mapping[str, str] = NONE_MORE
    ) -> subprocess.CompletedProcess[bytes]:
        place = {"GIT_DIR": str(self.git_folder)} if self.is_bare else {}  # git finds a bare one only where it is told
        return run_git(self.folder, arguments, data, more={**place, **more})


def find_repository(folder: Path) -> Repository | None:
    """The repository around a folder; None where there is none, or no git."""
    if not is_in_repository(folder):
        return None
    try:
        done = run_git(folder, ("rev-parse", "--show-toplevel", "--absolute-git-dir", "--show-prefix"))
    except NeedsRepair:
        return None
    lines = done.stdout.decode("utf-8", "surrogateescape").split("\n")
    if done.returncode or len(lines) != 4:  # a path with a line break in it is more lines
        return None
    return Repository(folder, Path(lines[0]), Path(lines[1]), prefix=lines[2])


def require_git(folder: Path) -> None:
    """Raises NeedsRepair where a folder lies in a repository that git does not serve."""
    if refused := refusal_of_git(folder):
        remedy = f"See `git -C {folder} status`, or keep no commits: `oneiros config dream_commit false`"
        raise NeedsRepair(f"git could not commit this ({refused})", where=folder, remedy=remedy)


def require_rest(repository: Repository) -> None:
    """Raises NeedsRepair while the person is in the middle of a merge or rebase, or another git command is at work.

    A command that ends within LOCK_SECONDS is waited for.
    """
    end = time.monotonic() + LOCK_SECONDS
    while held := [name for name in LOCKS if (repository.git_folder / name).exists()]:
        if time.monotonic() > end:
            lock = repository.git_folder / held[0]
            raise NeedsRepair("another git command is at work", where=lock, remedy="If none is, remove that file")
        time.sleep(LOOK_SECONDS)
    if what := repository.under_way():
        raise NeedsRepair(f"{what} is under way", where=repository.top, remedy="Finish or abort it, then try again")


def refusal_of_git(folder: Path) -> str:
    """Why git does not tell of the repository that a folder lies in; empty where it does, or where there is none."""
    if not is_in_repository(folder):
        return ""
    try:
        done = run_git(folder, ("rev-parse", "--show-toplevel"))
    except NeedsRepair as error:
        return error.what
    complaint = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
    return complaint.removeprefix("fatal: ") if done.returncode else ""
