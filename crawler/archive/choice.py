"""Which conversations are taken in, and which project they belong to.

By default every project is taken in. A deny list wins over an allow list; an allow list, once it names anything, shuts
out all others. A memory inside a project's repository takes in that project alone. A person excludes a single
conversation by a mark in their own words. A project is its git common directory, so that worktrees, renames and
sub-directories share one memory; outside git it is the folder.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from crawler.transcripts.entry import as_line
from memory_server.chunking import code_lines
from memory_server.layers.sessions import folder_name, project_name

NOT_IN_SLUG = re.compile(r"[^A-Za-z0-9]")
MAX_GIT_CHARS = 8_192  # of a file that holds one path
EXCLUDE_MARKS = ("#oneiros:off", "#no-memory")  # as a line of a person's prompt: the session is left out


@dataclass(frozen=True, slots=True)
class Choice:
    """What a person wants taken in. Entries of both lists are paths, or patterns with `*`, of projects or folders."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    only: str = ""  # the identity of the one project whose sessions may come in; empty: any

    def takes(self, project: str, cwd: str) -> bool:
        """Whether a session of this project, started in this folder, is taken in."""
        if self.only and project != self.only:
            return False
        if _any_covers(self.deny, project, cwd):
            return False
        return not self.allow or _any_covers(self.allow, project, cwd)

    def is_excluded_by(self, prompt: str) -> bool:
        """Whether the mark that leaves a session out is a line of the person's words, and not of code among them."""
        if not any(mark in prompt.casefold() for mark in EXCLUDE_MARKS):
            return False
        lines, code = prompt.splitlines(), code_lines(prompt)
        return any(line.strip().casefold() in EXCLUDE_MARKS for number, line in enumerate(lines) if number not in code)


@dataclass(slots=True)
class Projects:
    """Finds the project of a folder. `aliases` maps old identities to the one that should stand for them."""

    aliases: Mapping[str, str] = field(default_factory=dict)
    _known: dict[str, str] = field(default_factory=dict)

    def identify(self, cwd: str) -> str:
        """The identity of the project that a folder belongs to; the folder itself where it is gone or outside git."""
        if cwd not in self._known:
            found = git_common_directory(Path(cwd)) if cwd else None
            identity = str(found) if found else cwd
            self._known[cwd] = as_line(self.aliases.get(identity, identity))
        return self._known[cwd]


def _any_covers(rules: Iterable[str], project: str, cwd: str) -> bool:
    """Whether one of a person's rules holds; hidden marks in it are written out as they are in what it is held to."""
    return any(covers(rule, project) or covers(rule, cwd) for rule in map(as_line, rules))


def client_slug(folder: str) -> str:
    """The name that Claude Code gives a folder below its `projects`; other folders may have the same one."""
    return NOT_IN_SLUG.sub("-", folder)


def covers(rule: str, path: str) -> bool:
    """Whether a path is what a rule names, or lies below it."""
    rule = rule.rstrip("/")
    if not rule or not path:
        return False
    if "*" in rule:
        return fnmatchcase(path, rule) or fnmatchcase(path, f"{rule}/*")
    return path == rule or path.startswith(f"{rule}/")


def git_common_directory(folder: Path) -> Path | None:
    """The directory that all worktrees of a repository share, read from its files without running git.

    A worktree's `.git` is a file that names its own directory, whose `commondir` names the shared one. None outside a
    repository, where its files cannot be read, and for a folder of another system, which is no place of this one.
    """
    if not folder.is_absolute():
        return None
    for candidate in (folder, *folder.parents):
        marker = candidate / ".git"
        try:
            if marker.is_dir():
                return marker.resolve()
            if marker.is_file():
                return _follow_marker(marker)
        except (OSError, ValueError):  # a folder out of a transcript may be anything
            return None
    return None


def _follow_marker(marker: Path) -> Path | None:
    line = _read_git_file(marker)
    if not line.startswith("gitdir:"):
        return None
    directory = (marker.parent / line.removeprefix("gitdir:").strip()).resolve()
    shared = directory / "commondir"
    return (directory / _read_git_file(shared)).resolve() if shared.is_file() else directory


def _read_git_file(file: Path) -> str:
    """What a small file of git says."""
    with file.open(encoding="utf-8", errors="replace") as stream:
        return stream.read(MAX_GIT_CHARS).strip()


def is_project(wanted: str, project: str, cwd: str, file: Path) -> bool:
    """Whether what a person typed means this project: its path, identity, name, folder, or its name at the client."""
    folder = file.parent.parent.parent if file.parent.name == "subagents" else file.parent
    called = (project_name, folder_name, client_slug)
    names = {name_of(path) for path in (project.removesuffix("/.git"), cwd) for name_of in called}
    return wanted in {folder.name, *names} or covers(wanted, project) or covers(wanted, cwd)
