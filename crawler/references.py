"""Layer 4: files of projects, and the client's own memory files, as context and never as authority.

Each file that fits is kept as a redacted copy below `.oneiros/references/<project>/`, with a head that names where it
came from, so that the index reads it like any other source. Derived like the index: deleting the folder costs a scan. A
file is known by its content, so one that moved is renamed here and not read again, and one that lies in two places is
kept once; one that went disappears. Files of another machine come with what that machine sent: one that is not among
it is as it was.
"""

import hashlib
import io
import json
import os
import re
import stat
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path, PurePath
from xml.etree import ElementTree

import msgspec
import yaml

from crawler.archive.choice import git_common_directory
from crawler.archive.discovery import is_utf8
from crawler.sent import SentFile
from crawler.transcripts.injected import is_own_chat
from memory_server.errors import NeedsRepair
from memory_server.escaping import escape_line
from memory_server.layers.sessions import project_name
from memory_server.machine.clock import local_day
from memory_server.machine.files import read_json, replace_file
from memory_server.redaction import Redactor
from memory_server.root.git import run_git

SKIPPED_FOLDERS = frozenset(
    ".git .hg .svn .venv venv env node_modules vendor third_party dist build target out coverage __pycache__ .next"
    " .cache .tox .mypy_cache .pytest_cache .ruff_cache .idea .vscode site-packages Pods .gradle .oneiros".split()
)
CLIENT_PROJECT = "claude-code"
EMPTY = "empty"
UNSAFE = re.compile(r"[^A-Za-z0-9._/-]+")
LIST_FILES = ("ls-files", "-coz", "--exclude-standard")  # what git knows of or would add
MAX_BYTES = 64 * 1024  # of a file, or of what was written in a notebook; what is longer is data or generated
NOTEBOOK_BYTES = 4 * 1024 * 1024  # of a notebook, most of which is pictures of results
MARKDOWN = (".md", ".markdown")
OFFICE = ".docx"
NOTEBOOK = ".ipynb"
WORD_NAMESPACE = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


@dataclass(frozen=True, slots=True)
class ReferenceSource:
    """Some folders, and what of them is taken. `tags` are as those of the settings, or a word that all get."""

    name: str
    roots: tuple[str, ...]  # whole paths, or patterns of such; on another machine from `~/` too
    endings: tuple[str, ...]
    tags: tuple[tuple[str, str], ...] = ()
    machine: str = ""  # another one, whose files are fetched


@dataclass(frozen=True, slots=True)
class ReferenceSettings:
    """What is scanned. `tags` are pairs of a tag and a pattern on the file's name, or with `re:` on its text."""

    roots: tuple[Path, ...]
    endings: tuple[str, ...]
    tags: tuple[tuple[str, str], ...] = ()
    client_folders: tuple[Path, ...] = ()  # such as `~/.claude`, whose memory files are read as well
    deny_words: tuple[str, ...] = ()
    sources: tuple[ReferenceSource, ...] = ()
    name_project: Callable[[str], str] = project_name  # of its identity or folder

    @property
    def all_sources(self) -> tuple[ReferenceSource, ...]:
        """The folders without a name first."""
        plain = ReferenceSource("", tuple(map(str, self.roots)), self.endings)
        return (plain, *self.sources) if self.roots else self.sources

    def list_tags(self, source: str) -> tuple[tuple[str, str], ...]:
        """The tags of all files and those of one source."""
        return (*self.tags, *(tag for one in self.sources if one.name == source for tag in one.tags))

    def rules(self, source: str) -> str:
        """What must be equal for a copy to stand."""
        return _short(repr((self.list_tags(source), self.deny_words)))


@dataclass(slots=True)
class ScanReport:
    """What a scan did."""

    written: int = 0
    moved: int = 0
    removed: int = 0
    unchanged: int = 0
    doubles: int = 0  # files whose content lies elsewhere too, where it is kept
    problems: list[str] = field(default_factory=list)  # that somebody may mend
    refused: dict[str, list[str]] = field(default_factory=dict)  # files by the reason why they were not taken
    barren: list[str] = field(default_factory=list)  # sources of which nothing is held


class KnownReference(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is noted of a file that was read."""

    path: str  # where the file lies
    size: int
    changed_ns: int
    content: str  # hash of the file and of what was made of it
    source: str = ""
    inode: int = 0  # on another machine
    same_as: str = ""  # the name of the copy that holds the same, where this file has none

    @property
    def file_hash(self) -> str:
        """The hash of the file alone."""
        return self.content.partition("-")[0]

    def is_level(self, found: "KnownReference") -> bool:
        """Whether a file is as it was read; `found` has the rules in the place of the content."""
        is_same = (self.path, self.size, self.changed_ns) == (found.path, found.size, found.changed_ns)
        return is_same and self.content.endswith(f"-{found.content}") and not self.same_as


@dataclass(frozen=True, slots=True)
class SentFiles:
    """What a machine, by its id, sent of a source."""

    machine: str
    files: Sequence[SentFile]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A file to keep, under which name, for which project."""

    path: Path  # where it can be read
    name: str  # of the copy, from the folder of references
    project: str
    source: str
    shown: str  # where it lies
    sent: SentFile | None = None  # of another machine


def scan(
    settings: ReferenceSettings,
    folder: Path,
    *,
    due: Collection[str] | None = None,
    sent: Mapping[str, SentFiles] | None = None,
) -> ScanReport:
    """Brings the copies in `folder` level with the files of the roots.

    `due`: only these sources (the folders without a name: an empty one); the others stay as they are. `sent`: what
    another machine sent for a source.
    """
    report = ScanReport()
    state = folder / "state.json"
    known = read_json(state, dict[str, KnownReference], {})
    present: dict[str, KnownReference] = {}
    fresh: dict[str, tuple[_Candidate, bytes]] = {}
    for name, old in known.items():
        if _stays(old, settings, due) and (old.same_as or (folder / name).exists()):
            present[name] = old
    for candidate in _candidates(settings, due, sent or {}, report):
        before = known.get(candidate.name)
        try:
            entry = _entry(candidate, settings)
            if before and before.is_level(entry) and (folder / candidate.name).exists():
                present[candidate.name] = before
                continue
            content = candidate.path.read_bytes()
        except OSError as error:
            report.problems.append(f"{escape_line(candidate.shown)}: it cannot be read ({error.strerror}).")
            continue
        mark = f"{hashlib.sha256(content).hexdigest()[:32]}-{entry.content}"
        present[candidate.name] = msgspec.structs.replace(entry, content=mark)
        fresh[candidate.name] = (candidate, content)
    held = _write_copies(present, fresh, known, folder, settings, report)
    for name in set(known) - set(held):
        if (folder / name).exists():
            (folder / name).unlink()
            report.removed += 1
    sources = {entry.source for entry in held.values()}
    for source in settings.all_sources:
        if source.name not in sources and (due is None or source.name in due):
            report.barren.append(f"nothing was taken of {source.name or 'reference_roots'}: {', '.join(source.roots)}")
    if held != known:
        replace_file(state, msgspec.json.encode(held))
    return report


def _stays(old: KnownReference, settings: ReferenceSettings, due: Collection[str] | None) -> bool:
    """Whether a file counts as it was: of a source that is not looked at now, or that another machine sends."""
    machines = {source.name: source.machine for source in settings.all_sources}
    if old.source == CLIENT_PROJECT:
        return due is not None and "" not in due
    return old.source in machines and bool(machines[old.source] or (due is not None and old.source not in due))


def _entry(candidate: _Candidate, settings: ReferenceSettings) -> KnownReference:
    """What is noted of a file, with the rules in the place of its content."""
    rules = settings.rules(candidate.source)
    if sent := candidate.sent:
        return KnownReference(candidate.shown, sent.size, sent.changed_ns, rules, candidate.source, sent.inode)
    found = candidate.path.stat()
    return KnownReference(candidate.shown, found.st_size, found.st_mtime_ns, rules, candidate.source)


def _write_copies(
    present: dict[str, KnownReference],
    fresh: Mapping[str, tuple[_Candidate, bytes]],
    known: Mapping[str, KnownReference],
    folder: Path,
    settings: ReferenceSettings,
    report: ScanReport,
) -> dict[str, KnownReference]:
    """Writes the copies of what is new, one of each content; what is then held."""
    redactor = Redactor(settings.deny_words)
    held: dict[str, KnownReference] = {}
    first: dict[str, str] = {}  # of each content the copy that holds it; one that is there stays
    for name, entry in present.items():
        if name not in fresh and not entry.same_as:
            first.setdefault(entry.file_hash, name)
    left = {old.content: name for name, old in known.items() if name not in present and (folder / name).exists()}
    for name, entry in present.items():
        if first.setdefault(entry.file_hash, name) != name:
            held[name] = msgspec.structs.replace(entry, same_as=first[entry.file_hash])
            (folder / name).unlink(missing_ok=True)
            report.doubles += 1
        elif name in fresh:
            candidate, content = fresh[name]
            text = document_text(candidate.path, content)
            if text is None:
                report.problems.append(f"{escape_line(candidate.shown)}: not a text of its kind; it is left out")
                continue
            if is_own_chat(text):
                report.refused.setdefault("a chat with a memory", []).append(candidate.shown)
                continue
            copy = _copy(candidate, text, entry, settings.list_tags(candidate.source), redactor)
            replace_file(folder / name, copy.encode("utf-8"))
            held[name] = entry
            moved_from = left.pop(entry.content, "")
            if moved_from:
                (folder / moved_from).unlink(missing_ok=True)
                report.moved += 1
            elif name in known and known[name].content == entry.content:
                report.unchanged += 1
            else:
                report.written += 1
        elif not entry.same_as:  # one whose other copy went is read again the next time
            held[name] = entry
            report.unchanged += 1
    return held


def _candidates(
    settings: ReferenceSettings,
    due: Collection[str] | None,
    sent: Mapping[str, SentFiles],
    report: ScanReport,
) -> Iterator[_Candidate]:
    paths: dict[str, str] = {}  # of the files, by the names of their copies

    def make_candidate(
        path: Path, name: str, project: str, source: str, shown: str, sent: SentFile | None = None
    ) -> _Candidate:
        if paths.setdefault(name, shown) != shown:  # another folder of the same name
            name = f"{name.removesuffix('.md')}~{_short(shown)}.md"
            paths[name] = shown
        return _Candidate(path, name, project, source, shown, sent)

    for source in settings.all_sources:
        machine, files = (came.machine, came.files) if (came := sent.get(source.name)) else ("", ())
        for one in files:
            project = settings.name_project(one.folder)
            name = f"{machine}/{project}/{UNSAFE.sub('-', one.path.removeprefix(f'{one.folder}/'))}.md"
            yield make_candidate(one.here, name, project, source.name, f"{machine}:{one.path}", one)
        if source.machine or (due is not None and source.name not in due):
            continue
        for root, path in _find_files(source, report):
            project = settings.name_project(str(git_common_directory(root) or root))
            name = f"{project}/{UNSAFE.sub('-', path.relative_to(root).as_posix())}.md"
            if paths.get(name) != str(path):  # as in a folder that lies in another one
                yield make_candidate(path, name, project, source.name, str(path))
    for folder in settings.client_folders if due is None or "" in due else ():
        for path in client_memories(folder):
            if not _find_trouble(path):
                name = f"{CLIENT_PROJECT}/{UNSAFE.sub('-', path.relative_to(folder).as_posix())}.md"
                yield make_candidate(path, name, CLIENT_PROJECT, CLIENT_PROJECT, str(path))


def _find_files(source: ReferenceSource, report: ScanReport) -> Iterator[tuple[Path, Path]]:
    """The folders of a source with the files in them that are taken."""
    endings = tuple(ending.lower() for ending in source.endings)
    for pattern in source.roots:
        whole = Path(pattern)
        found = [whole] if whole.exists() else sorted(Path(whole.anchor).glob(str(whole.relative_to(whole.anchor))))
        if not found:
            report.problems.append(f"{escape_line(pattern)}: there is no such folder.")
        for root in filter(Path.is_dir, found):
            for path in sorted(list_files(root)):
                if path.name.lower().endswith(endings):
                    trouble = _find_trouble(path)
                    if not trouble:
                        yield root, path
                    elif trouble != EMPTY:
                        report.refused.setdefault(trouble, []).append(str(path))


def client_memories(folder: Path) -> Iterator[Path]:
    """The client's own memory files below `~/.claude`: the person's CLAUDE.md and the notes of each project."""
    yield from (path for path in (folder / "CLAUDE.md",) if path.is_file())
    yield from sorted(folder.glob("projects/*/memory/**/*.md"))


def list_files(root: Path) -> Iterator[Path]:
    """The files of a project without build folders and vendored code; by git's list where there is one."""
    listed = _list_git_files(root)
    if listed is not None:
        for name in listed:
            if not SKIPPED_FOLDERS.intersection(Path(name).parts[:-1]):
                yield root / name
        return
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS and not name.startswith("."))
        yield from (Path(folder, name) for name in sorted(names))


def _list_git_files(root: Path) -> list[str] | None:
    """What git knows of or would add, from the root; None outside a repository or without git."""
    try:
        done = run_git(root, LIST_FILES)
    except NeedsRepair:
        return None
    return None if done.returncode else sorted({os.fsdecode(name) for name in done.stdout.split(b"\0") if name})


def _find_trouble(path: Path) -> str:
    """Why a file is not taken; empty where it is."""
    try:
        found = path.lstat()
    except OSError as error:
        return f"it cannot be read ({error.strerror})"  # it went away, or lies where nobody may look
    if not is_utf8(path):
        return "its name is not UTF-8"
    if stat.S_ISLNK(found.st_mode):
        return "a link"
    if not stat.S_ISREG(found.st_mode):
        return "it is no file, whatever its name says"
    if not found.st_size:
        return EMPTY
    most = most_bytes(path)
    return "" if found.st_size <= most else f"longer than {most // 1024} KB"


def _copy(
    candidate: _Candidate, text: str, entry: KnownReference, tags: Sequence[tuple[str, str]], redactor: Redactor
) -> str:
    """The Markdown that stands for a file; code stands in a fence."""
    body = redactor.redact(text).text
    if not is_markdown(candidate.path):
        body = fence_code(body, candidate.path.suffix.lower().removeprefix("."))
    front: Mapping[str, object] = {
        "title": redactor.redact(Path(candidate.shown).name).text,
        "type": "semantic",
        "modified": local_day(datetime.fromtimestamp(entry.changed_ns / 1e9, UTC)).isoformat(),
        "project": candidate.project,
        "tags": sorted({tag for tag, pattern in tags if _has(pattern, Path(candidate.shown), text)}),
        "source": redactor.redact(candidate.shown).text,
    }
    return f"---\n{yaml.safe_dump(dict(front), sort_keys=False, allow_unicode=True, width=1000)}---\n\n{body}"


def _has(pattern: str, path: Path, text: str) -> bool:
    if pattern.startswith("re:"):
        return re.search(pattern.removeprefix("re:"), text) is not None
    return fnmatch(path.name, pattern)


def _short(rules: str) -> str:
    return hashlib.sha256(rules.encode()).hexdigest()[:8]


def parse_pairs(settings: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """`name=value` texts of the settings as pairs."""
    return tuple((name.strip(), value.strip()) for name, _, value in (text.partition("=") for text in settings))


# -- the text of a file ---------------------------------------------------------------------------------------------


def most_bytes(path: PurePath) -> int:
    """How long a file may be."""
    return NOTEBOOK_BYTES if path.suffix.lower() == NOTEBOOK else MAX_BYTES


def is_markdown(path: PurePath) -> bool:
    """Whether the text of a file is Markdown; else it is code."""
    return path.suffix.lower() in (*MARKDOWN, OFFICE, NOTEBOOK)


def document_text(path: PurePath, content: bytes) -> str | None:
    """The text of a file; None where it is not what its name says."""
    ending = path.suffix.lower()
    if ending == OFFICE:
        return _office_text(content)
    if ending == NOTEBOOK:
        return _notebook_text(content)
    return None if b"\0" in content else content.decode("utf-8", errors="replace")


def fence_code(code: str, language: str = "") -> str:
    """Code as Markdown holds it, whatever fences stand in it."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", code)), default=0))
    return f"{fence}{language}\n{code.rstrip()}\n{fence}\n"


def _office_text(content: bytes) -> str | None:
    """The paragraphs of a .docx; None where it is none, or declares entities, which no word processor writes."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as package:
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


def _notebook_text(content: bytes) -> str | None:
    """What was written in the cells of a notebook, without their results; None where it is none."""
    try:
        cells = json.loads(content)["cells"]
        found = [(str(cell["cell_type"]), "".join(cell["source"])) for cell in cells]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    written = (fence_code(text) if kind == "code" else text for kind, text in found if text.strip())
    return "\n\n".join(written)[:MAX_BYTES]
