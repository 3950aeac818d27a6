"""The files in which a person wrote down how they want things done: CLAUDE.md, AGENTS.md, rules, notes, decisions.

Found in the home and in the folders of the projects, or below what a person names; read and never changed. Nothing is
followed out of the folder that was named or found: no link, no `@import`. A file that is no text, or too large for one
that people write, is named and left out; so is one that git says somebody else wrote, unless it is asked for.
"""

import datetime as dt
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from crawler.archive.choice import client_slug, git_common_directory
from crawler.archive.names import is_present_folder
from crawler.archive.waiting import read_working_folder
from crawler.references import MARKDOWN, list_files
from crawler.transcripts.injected import is_own_chat
from memory_server.errors import Problem
from memory_server.layers.sessions import project_name
from memory_server.machine.clock import local_day
from memory_server.root.git import ask_git

MAX_BYTES = 256 * 1024  # of one file
MAX_DEPTH = 4  # of `@imports`, as Claude Code follows them
LAST_COMMITS = 5  # of a file, that tell whose it is
NAMES = frozenset({"CLAUDE.md", "CLAUDE.local.md", "AGENTS.md"})
RULES = ".claude/rules"
DECISIONS = re.compile(r"(?:^|/)(?:docs?|documentation)/(?:adrs?|decisions|architecture/decisions)/[^/]+\.md$")
IMPORT = re.compile(r"(?<![\w`@./])@(~?[\w./-]*[\w-])")
FENCED = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
INDEX = "MEMORY.md"  # of Claude's own notes: pointers to them


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """One file, read."""

    path: Path
    shown: str  # ~/src/app/CLAUDE.md; the whole path outside of the home
    text: str
    project: str  # empty for what holds everywhere
    day: dt.date  # on which it was last changed
    is_decision: bool = False  # a record of a decision
    line_days: tuple[dt.date, ...] = ()  # of the commit of each line; empty where git knows none

    def find_day(self, line: int) -> dt.date:
        """When a line, counted from 1, was written, as far as known."""
        return self.line_days[line - 1] if 0 < line <= len(self.line_days) else self.day


@dataclass(slots=True)
class Instructions:
    """What was found."""

    files: list[WrittenFile] = field(default_factory=list)
    others: list[str] = field(default_factory=list)  # files that somebody else wrote
    problems: list[Problem] = field(default_factory=list)


class InstructionReader:
    """Finds and reads such files, each once. `with_others`: also those that somebody else wrote."""

    def __init__(self, home: Path, *, with_others: bool = False, name_project: Callable[[str], str] = project_name):
        self._home = home
        self._with_others = with_others
        self._name_project = name_project
        self._seen: set[Path] = set()
        self._persons: dict[Path, str] = {}
        self.found = Instructions()

    def read_client(self, client: Path, folders: Mapping[str, Path]) -> None:
        """The person's own files below `~/.claude`, or another folder of the client, Claude's notes on these projects
        among them. A folder that the client named otherwise than by the project's path is known by its transcripts.
        """
        for file in (client / "CLAUDE.md", *sorted((client / "rules").rglob("*.md"))):
            self._take(file, client, "")
        slugs = {client_slug(str(folder)): name for name, folder in folders.items()}
        for project in sorted(client.glob("projects/*")):
            name = slugs.get(project.name) or _find_project(project, folders)
            for file in sorted(project.glob("memory/**/*.md")):
                if file.name != INDEX:
                    self._take(file, client, name)

    def read_project(self, folder: Path, project: str) -> None:
        """The files of one project, those of its root first."""
        for file in (*(folder / name for name in sorted(NAMES)), *sorted((folder / RULES).rglob("*.md"))):
            self._take(file, folder, project)  # git may ignore these
        for file in _in_order(list_files(folder)):
            if file.name in NAMES or DECISIONS.search(file.relative_to(folder).as_posix()):
                self._take(file, folder, project)

    def read_named(self, path: Path) -> None:
        """A file, or every Markdown file below a folder, which is a project of its own where git knows none."""
        folder, unknown = (path, path.resolve().name) if path.is_dir() else (path.parent, "")
        files = [file for file in list_files(path) if file.suffix.lower() in MARKDOWN] if path.is_dir() else [path]
        for file in _in_order(files):
            repository = git_common_directory(file.parent)
            self._take(file, folder, self._name_project(str(repository)) if repository else unknown)

    def _take(self, file: Path, root: Path, project: str, depth: int = 0) -> None:
        """Reads a file and what it imports; nothing of it lies outside of `root`."""
        if not file.is_symlink() and not file.exists():
            return
        try:
            real, base = file.resolve(strict=True), root.resolve(strict=True)
        except OSError as error:
            self._refuse(file, f"it cannot be read ({error.strerror})")
            return
        if not real.is_relative_to(base):
            self._refuse(file, f"it leads out of {self._shorten_path(root)}")
            return
        if real in self._seen or not real.is_file():
            return
        self._seen.add(real)
        if not self._with_others and self._is_of_another(file):
            self.found.others.append(self._shorten_path(file))
            return
        if (text := self._read_text(real, file)) is None:
            return
        day = local_day(dt.datetime.fromtimestamp(real.stat().st_mtime, dt.UTC))
        is_decision = DECISIONS.search(file.as_posix()) is not None
        days = date_lines(real)
        self.found.files.append(WrittenFile(file, self._shorten_path(file), text, project, day, is_decision, days))
        if depth < MAX_DEPTH:
            for name in dict.fromkeys(IMPORT.findall(FENCED.sub(" ", text))):
                place = self._home / name[2:] if name.startswith("~/") else file.parent / name
                if place.suffix in MARKDOWN:
                    self._take(place, root, project, depth + 1)

    def _read_text(self, real: Path, file: Path) -> str | None:
        try:
            if real.stat().st_size > MAX_BYTES:
                self._refuse(file, f"it is larger than {MAX_BYTES // 1024} KB")
                return None
            text = real.read_bytes().decode("utf-8")
        except OSError as error:
            self._refuse(file, f"it cannot be read ({error.strerror})")
        except UnicodeDecodeError:
            self._refuse(file, "it is no text in UTF-8")
        else:
            if "\0" not in text and not is_own_chat(text):
                return text
            self._refuse(file, "it is no text" if "\0" in text else "it is a chat with a memory")
        return None

    def _refuse(self, file: Path, why: str) -> None:
        self.found.problems.append(Problem(self._shorten_path(file), 1, why, "It is left out"))

    def _shorten_path(self, path: Path) -> str:
        return f"~/{path.relative_to(self._home)}" if path.is_relative_to(self._home) else str(path)

    def _is_of_another(self, file: Path) -> bool:
        """Whether git knows the file and none of its last commits is by the person who is set up here."""
        output = ask_git(file.parent, "log", f"-{LAST_COMMITS}", "--format=%ae", "--", file.name) or ""
        authors = output.casefold().split()
        if not authors:
            return False
        if file.parent not in self._persons:
            self._persons[file.parent] = (ask_git(file.parent, "config", "user.email") or "").casefold().strip()
        return self._persons[file.parent] not in authors


def find_folders(
    projects: Mapping[str, str], name_project: Callable[[str], str] = project_name
) -> tuple[dict[str, Path], dict[str, Path]]:
    """The folders of projects by name: those that are there, and those that are not, or no more. `projects` gives to
    each identity a folder of it.
    """
    found: dict[str, Path] = {}
    gone: dict[str, Path] = {}
    for identity, cwd in sorted(projects.items()):
        place = Path(identity).parent if Path(identity).name == ".git" else Path(identity or cwd)
        (found if is_present_folder(place) else gone).setdefault(name_project(identity or cwd), place)
    return found, {name: place for name, place in gone.items() if name not in found}


def _find_project(transcripts: Path, folders: Mapping[str, Path]) -> str:
    """The innermost project at work in the transcripts of a folder; empty where none of these is."""
    for transcript in sorted(transcripts.glob("*.jsonl")):
        if cwd := read_working_folder(transcript):
            inside = [(len(one.parts), name) for name, one in folders.items() if Path(cwd).is_relative_to(one)]
            return max(inside, default=(0, ""))[1]
    return ""


def _in_order(files: Iterable[Path]) -> list[Path]:
    """Files of a folder, those that lie higher first."""
    return sorted(files, key=lambda file: (len(file.parts), file))


def date_lines(file: Path) -> tuple[dt.date, ...]:
    """The day of the commit that last changed each line, today where it is not committed; empty outside git."""
    head = "author-time "
    output = (ask_git(file.parent, "blame", "--line-porcelain", "--", file.name) or "").split("\n")
    times = (line[len(head) :] for line in output if line.startswith(head))  # what the file says stands behind a tab
    return tuple(local_day(dt.datetime.fromtimestamp(int(time), dt.UTC)) for time in times)
