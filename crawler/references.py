"""Layer 4: files of projects, and the client's own memory files, as context and never as authority.

Each file that fits is kept as a redacted copy below `.oneiros/references/<project>/`, with a head that names where it
came from, so that the index reads it like any other source. Derived like the index: deleting the folder costs a scan. A
file is known by its content, so one that moved is renamed here and not read again; one that went disappears.
"""

import hashlib
import os
import re
import stat
import subprocess
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import yaml

from crawler.archive.choice import git_common_directory
from crawler.archive.discovery import is_utf8
from memory_server.escaping import shown_line
from memory_server.layers.sessions import project_name
from memory_server.machine.files import replace_file
from memory_server.redaction import Redactor
from memory_server.root.state import SAFE_GIT

MAX_BYTES = 64 * 1024  # of a file; what is longer is data or generated
SKIPPED_FOLDERS = frozenset(
    ".git .hg .svn .venv venv env node_modules vendor third_party dist build target out coverage __pycache__ .next"
    " .cache .tox .mypy_cache .pytest_cache .ruff_cache .idea .vscode site-packages Pods .gradle .oneiros".split()
)
MARKDOWN = (".md", ".markdown")
OFFICE = ".docx"
WORD_NAMESPACE = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
CLIENT_PROJECT = "claude-code"
UNSAFE = re.compile(r"[^A-Za-z0-9._/-]+")


@dataclass(frozen=True, slots=True)
class ReferenceSettings:
    """What is scanned. `tags` are pairs of a tag and a pattern on the file's name, or with `re:` on its text."""

    roots: tuple[Path, ...]
    endings: tuple[str, ...]
    tags: tuple[tuple[str, str], ...] = ()
    client_folder: Path | None = None  # `~/.claude`, whose memory files are read as well
    deny_words: tuple[str, ...] = ()


@dataclass(slots=True)
class ScanReport:
    """What a scan did."""

    written: int = 0
    moved: int = 0
    removed: int = 0
    unchanged: int = 0
    problems: list[str] = field(default_factory=list)


class _Known(msgspec.Struct, frozen=True):
    path: str  # where the file lies
    size: int
    changed_ns: int
    content: str  # hash of the file and of what was made of it


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A file to keep, under which name, for which project."""

    path: Path
    name: str  # of the copy, from the folder of references
    project: str


def scan(settings: ReferenceSettings, folder: Path) -> ScanReport:
    """Brings the copies in `folder` level with the files of the roots."""
    report = ScanReport()
    state = folder / "state.json"
    known = _read_state(state)
    redactor = Redactor(settings.deny_words)
    rules = repr((settings.tags, settings.deny_words))
    present: dict[str, _Known] = {}
    fresh: list[tuple[_Candidate, bytes, _Known]] = []
    for candidate in _candidates(settings):
        old = known.get(candidate.name)
        try:
            found = candidate.path.stat()
            told = (str(candidate.path), found.st_size, found.st_mtime_ns)
            is_same = old and (old.path, old.size, old.changed_ns) == told
            if old and is_same and old.content.endswith(_short(rules)) and (folder / candidate.name).exists():
                present[candidate.name] = old
                report.unchanged += 1
                continue
            content = candidate.path.read_bytes()
        except OSError as error:
            report.problems.append(f"{shown_line(str(candidate.path))}: it cannot be read ({error.strerror}).")
            continue
        mark = f"{hashlib.sha256(content).hexdigest()[:32]}-{_short(rules)}"
        fresh.append((candidate, content, _Known(str(candidate.path), found.st_size, found.st_mtime_ns, mark)))
    taken = {name for name in known if name in present} | {candidate.name for candidate, _, _ in fresh}
    left = {old.content: name for name, old in known.items() if name not in taken and (folder / name).exists()}
    for candidate, content, entry in fresh:
        source = left.pop(entry.content, "")
        text = _text_of(candidate.path, content)
        if text is None:
            report.problems.append(f"{candidate.path}: not a text of its kind; it is left out")
            continue
        replace_file(folder / candidate.name, _copy(candidate, text, entry, settings.tags, redactor).encode("utf-8"))
        present[candidate.name] = entry
        if source:
            report.moved += 1
        elif candidate.name in known and known[candidate.name].content == entry.content:
            report.unchanged += 1
        else:
            report.written += 1
        if source:
            (folder / source).unlink(missing_ok=True)
    for name in set(known) - set(present):
        if (folder / name).exists():
            (folder / name).unlink()
            report.removed += 1
    if present != known:
        replace_file(state, msgspec.json.encode(present))
    return report


def _candidates(settings: ReferenceSettings) -> Iterator[_Candidate]:
    endings = tuple(ending.lower() for ending in settings.endings)
    seen: set[str] = set()
    for root in settings.roots:
        project = project_name(str(git_common_directory(root) or root))
        for path in sorted(files_below(root)):
            if path.name.lower().endswith(endings) and _fits(path):
                name = f"{project}/{UNSAFE.sub('-', path.relative_to(root).as_posix())}.md"
                if name not in seen:
                    seen.add(name)
                    yield _Candidate(path, name, project)
    if settings.client_folder is not None:
        for path in client_memories(settings.client_folder):
            if _fits(path):
                name = f"{CLIENT_PROJECT}/{UNSAFE.sub('-', path.relative_to(settings.client_folder).as_posix())}.md"
                yield _Candidate(path, name, CLIENT_PROJECT)


def client_memories(folder: Path) -> Iterator[Path]:
    """The client's own memory files below `~/.claude`: the person's CLAUDE.md and the notes of each project."""
    yield from (path for path in (folder / "CLAUDE.md",) if path.is_file())
    yield from sorted(folder.glob("projects/*/memory/**/*.md"))


def files_below(root: Path) -> Iterator[Path]:
    """The files of a project without build folders and vendored code; by git's list where there is one."""
    listed = _listed_by_git(root)
    if listed is not None:
        for name in listed:
            if not SKIPPED_FOLDERS.intersection(Path(name).parts[:-1]):
                yield root / name
        return
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS and not name.startswith("."))
        yield from (Path(folder, name) for name in sorted(names))


def _listed_by_git(root: Path) -> list[str] | None:
    """What git knows of or would add, from the root; None outside a repository or without git."""
    command = ["git", "-C", str(root), *SAFE_GIT, "ls-files", "-coz", "--exclude-standard"]
    try:
        found = subprocess.run(command, capture_output=True, timeout=60, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return sorted({os.fsdecode(name) for name in found.split(b"\0") if name})


def _fits(path: Path) -> bool:
    try:
        found = path.lstat()
    except OSError:
        return False  # it went away, or lies where nobody may look
    return stat.S_ISREG(found.st_mode) and 0 < found.st_size <= MAX_BYTES and is_utf8(path)


def _text_of(path: Path, content: bytes) -> str | None:
    if path.suffix.lower() == OFFICE:
        return _office_text(path)
    if b"\0" in content:
        return None
    return content.decode("utf-8", errors="replace")


def _office_text(path: Path) -> str | None:
    """The paragraphs of a .docx; None where it is none, or declares entities, which no word processor writes."""
    try:
        with zipfile.ZipFile(path) as package:
            document = package.open("word/document.xml").read(16 * MAX_BYTES)
        if b"<!ENTITY" in document or b"<!DOCTYPE" in document:
            return None
        tree = ElementTree.fromstring(document)  # noqa: S314  entities are refused above
    except (KeyError, zipfile.BadZipFile, ElementTree.ParseError):
        return None
    paragraphs = (
        "".join(part.text or "" for part in p.iter(f"{WORD_NAMESPACE}t")) for p in tree.iter(f"{WORD_NAMESPACE}p")
    )
    return "\n\n".join(paragraphs)


def _copy(candidate: _Candidate, text: str, entry: _Known, tags: Sequence[tuple[str, str]], redactor: Redactor) -> str:
    """The Markdown that stands for a file; code stands in a fence."""
    ending = candidate.path.suffix.lower()
    body = redactor.redact(text).text
    if ending not in (*MARKDOWN, OFFICE):
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", body)), default=0))
        body = f"{fence}{ending.removeprefix('.')}\n{body.rstrip()}\n{fence}\n"
    front: Mapping[str, object] = {
        "title": redactor.redact(candidate.path.name).text,
        "type": "semantic",
        "modified": datetime.fromtimestamp(entry.changed_ns / 1e9, UTC).date().isoformat(),
        "project": candidate.project,
        "tags": sorted({tag for tag, pattern in tags if _has(pattern, candidate.path, text)}),
        "source": redactor.redact(str(candidate.path)).text,
    }
    return f"---\n{yaml.safe_dump(dict(front), sort_keys=False, allow_unicode=True, width=1000)}---\n\n{body}"


def _has(pattern: str, path: Path, text: str) -> bool:
    if pattern.startswith("re:"):
        return re.search(pattern.removeprefix("re:"), text) is not None
    return fnmatch(path.name, pattern)


def _short(rules: str) -> str:
    return hashlib.sha256(rules.encode()).hexdigest()[:8]


def _read_state(file: Path) -> dict[str, _Known]:
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, _Known])
    except (OSError, msgspec.MsgspecError):
        return {}


def pairs_of(settings: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """`name=value` texts of the settings as pairs."""
    return tuple((name.strip(), value.strip()) for name, _, value in (text.partition("=") for text in settings))
