"""The compressed session: one Markdown file of layer 2, written once and never edited.

Frontmatter after MIF level 3, what is ours below `extensions.oneiros`; then sections of list items, one statement a
line, each ending with the ids of the archive entries it came from. A session that was resumed gets a new file with a
higher revision, which supersedes the older ones. Who writes the statements is the crawler's business.
"""

import re
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import takewhile
from pathlib import Path
from typing import Any

import yaml

from memory_server.errors import ContentError
from memory_server.language.spelling import unify
from memory_server.machine.clock import local
from memory_server.machine.files import replace_file

NAMESPACE = uuid.UUID("6f1c0b0e-6d0b-5c8e-9a55-0c1f3a7d2b11")  # for ids of compressed sessions
STATEMENT = re.compile(r"^- (?P<text>.*?)(?: \[(?P<entries>[^\[\]]+)\])?$")
SUMMARY_CHARS = 500  # a rule of MIF
SLUG_WORDS = 6
NAME_END = re.compile(r"-(?P<id8>[A-Za-z0-9]{1,8})(?:-r(?P<revision>\d+))?\.md\Z")
OWN_FIELDS = re.compile(  # of a head as it is written here: each question asks for them where a session has revisions
    r"^extensions:\n  oneiros:\n    sessionId: (?P<id>[\w-]+)\n    revision: (?P<revision>\d+)$", re.MULTILINE
)
ARCHIVED = "sessions/archive/"  # before the id of a session, in the path of its turns
DIGEST_SECTIONS = ("Goal", "Decisions", "Outcome", "Open items", "Key exchanges")
DIGEST_STATEMENTS = 8  # of one section
WINDOWS_PATH = re.compile(r"[A-Za-z]:[\\/]|\\\\")  # by its drive or its server
ACCOUNT = re.compile(
    r"(?:[A-Za-z]:)?[\\/](?:(?:home|users)[\\/][^\\/]+|root(?![^\\/]))", re.IGNORECASE
)  # a person's folder
TELLS_NOTHING = frozenset(  # what a checkout, or what holds several of them, is called in every project
    "main master trunk src source code repo repos repositories git project projects work workspace checkout tmp"
    " .claude .bare".split()
)
SEPARATOR, WINDOWS_SEPARATOR = re.compile("/"), re.compile(r"[\\/]")
UNSAFE_IN_LINE = re.compile(r"[\x00-\x1f\x7f\u2028\u2029]+")


@dataclass(frozen=True, slots=True)
class Statement:
    """One line of a compressed session. `entries` are ids, or unique prefixes of ids, in its archive."""

    text: str
    entries: tuple[str, ...]

    @property
    def line(self) -> str:
        return f"- {UNSAFE_IN_LINE.sub(' ', self.text).strip()} [{', '.join(self.entries)}]"


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and its statements."""

    title: str
    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class CompressedSession:
    """A session as layer 2 holds it."""

    session_id: str
    title: str
    summary: str
    sections: tuple[Section, ...]
    project: str = ""
    called: str = ""  # the project's name, where its folder does not tell it
    cwd: str = ""
    branch: str = ""
    machine: str = ""
    agent: str = ""  # that it was held with; empty for Claude Code
    started: datetime | None = None
    ended: datetime | None = None
    turns: dict[str, int] = field(default_factory=dict)  # role -> number
    tokens: dict[str, int] = field(default_factory=dict)  # input and output, as the client counted them
    tools: dict[str, int] = field(default_factory=dict)  # name -> number of calls
    files_touched: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    outcome: str = "unknown"  # shipped, abandoned, partial, unknown
    importance: float = 0.0  # 0 to 1
    source_hash: str = ""  # of the archived entries it was made from
    revision: int = 1
    supersedes: str = ""  # file name of the revision before
    compressor: str = "extractive"
    fallback: str = ""  # why another back end did not write it

    @property
    def project_name(self) -> str:
        """The project by the name that topics and filters give it."""
        return self.called or project_name(self.project or self.cwd)

    @property
    def body(self) -> str:
        """The Markdown below the frontmatter."""
        blocks = [f"# {UNSAFE_IN_LINE.sub(' ', self.title).strip()}"]
        for section in self.sections:
            if section.statements:
                lines = "\n".join(statement.line for statement in section.statements)
                blocks.append(f"## {section.title}\n\n{lines}")
        return "\n\n".join(blocks) + "\n"

    @property
    def file_name(self) -> str:
        """`<date>-<slug>-<id8>.md`, from the second revision on with `-r<n>`."""
        date = f"{local(self.started):%Y-%m-%d}" if self.started else "0000-00-00"
        revision = "" if self.revision == 1 else f"-r{self.revision}"
        return f"{date}-{make_slug(self.title)}-{cut_id8(self.session_id)}{revision}.md"

    @property
    def year(self) -> str:
        return f"{local(self.started):%Y}" if self.started else "0000"


def write_session(folder: Path, session: CompressedSession) -> Path:
    """Writes a session below `sessions/compressed` and returns its path.

    Raises ContentError where a file of that name holds something else: a revision is written once.
    """
    path = folder / session.year / session.file_name
    content = render(session)
    if path.exists():
        if path.read_text(encoding="utf-8") == content:
            return path
        raise ContentError("this revision is written already", where=path, remedy="Write the next revision instead")
    replace_file(path, content)
    return path


def render(session: CompressedSession) -> str:
    """The whole file."""
    front = yaml.safe_dump(_frontmatter(session), sort_keys=False, allow_unicode=True, width=1000)
    return f"---\n{front}---\n\n{session.body}"


def read_session(path: Path) -> CompressedSession:
    """A compressed session from its file. Raises ContentError where the frontmatter cannot be read."""
    text = path.read_text(encoding="utf-8")
    front, body = _split(text, path)
    own = (front.get("extensions") or {}).get("oneiros") or {}
    if "sessionId" not in own:
        raise ContentError(
            "the frontmatter names no session", where=path, line=1, remedy="Remove the file, then ingest"
        )
    project, cwd, called = str(own.get("project", "")), str(own.get("cwd", "")), str(front.get("project", ""))
    return CompressedSession(
        session_id=str(own["sessionId"]),
        title=str(front.get("title", "")),
        summary=str(front.get("summary", "")),
        sections=tuple(parse_sections(body)),
        project=project,
        called="" if called == project_name(project or cwd) else called,
        cwd=cwd,
        branch=str(own.get("branch", "")),
        machine=str(own.get("machine", "")),
        agent=str(front.get("agent", "")),
        started=_moment(own.get("started")),
        ended=_moment(own.get("ended")),
        turns=dict(own.get("turns") or {}),
        tokens=dict(own.get("tokens") or {}),
        tools=dict(own.get("tools") or {}),
        files_touched=tuple(own.get("filesTouched") or ()),
        commits=tuple(own.get("commits") or ()),
        outcome=str(own.get("outcome", "unknown")),
        importance=float(own.get("importance", 0)),
        source_hash=str(own.get("sourceHash", "")),
        revision=int(own.get("revision", 1)),
        supersedes=str(own.get("supersedes", "")),
        compressor=str(own.get("compressor", "")),
        fallback=str(own.get("fallback", "")),
    )


def parse_sections(body: str) -> Iterator[Section]:
    """The sections of a body; what is no list item below a `##` heading is passed over."""
    for block in re.split(r"^## ", body, flags=re.MULTILINE)[1:]:
        title, _, rest = block.partition("\n")
        statements = []
        for line in rest.splitlines():
            if match := STATEMENT.match(line):
                entries = tuple(part.strip() for part in (match["entries"] or "").split(",") if part.strip())
                statements.append(Statement(match["text"], entries))
        yield Section(title.strip(), tuple(statements))


def newest_files(folder: Path) -> dict[str, Path]:
    """The file of the highest revision of each session below `sessions/compressed`, or in the attic, by session id."""
    newest: dict[str, tuple[int, Path]] = {}
    for path in [*sorted(folder.glob("*/*.md")), *sorted(find_attic(folder).glob("*/*.md"))]:
        session_id, revision = _identity(path)
        if session_id and revision > newest.get(session_id, (0, path))[0]:
            newest[session_id] = (revision, path)
    return {session_id: path for session_id, (_, path) in newest.items()}


def find_compressed(folder: Path) -> set[str]:
    """The beginnings of the ids of sessions that have a file below `sessions/compressed`, or in the attic, by name."""
    files = (*folder.glob("*/*.md"), *find_attic(folder).glob("*/*.md"))
    return {parse_id8(f"sessions/compressed/{path.name}") for path in files}


def find_superseded_files(files: Iterable[Path]) -> set[Path]:
    """Those files of compressed sessions that a higher revision of the same session replaces.

    Told by their names; only where one names a revision are files opened, since two sessions may share an id8.
    """
    by_id: dict[str, list[tuple[Path, str]]] = {}
    for path in files:
        if match := NAME_END.search(path.name):
            by_id.setdefault(match["id8"], []).append((path, match["revision"] or ""))
    old: set[Path] = set()
    for found in by_id.values():
        if any(revision for _, revision in found):
            known = [(_identity(path), path) for path, _ in found]
            highest = {owner: max(r for (o, r), _ in known if o == owner) for (owner, _), _ in known}
            old |= {path for (owner, revision), path in known if owner and revision < highest[owner]}
    return old


def find_session_files(folder: Path, session_id: str) -> list[Path]:
    """Every revision of a session, the oldest first, in the attic too."""
    name = f"*/*-{cut_id8(session_id)}*.md"
    found = [
        (revision, path)
        for path in (*folder.glob(name), *find_attic(folder).glob(name))
        for owner, revision in [_identity(path)]
        if owner == session_id
    ]
    return [path for _, path in sorted(found)]


def find_attic(folder: Path) -> Path:
    """Where files of `sessions/compressed` lie that went to the attic."""
    return folder.parent / "attic" / folder.name


def _identity(path: Path) -> tuple[str, int]:
    """Session id and revision of a file, from its head alone; an empty id where it has none."""
    try:
        text = path.read_text(encoding="utf-8")
        if text.startswith("---\n") and (known := OWN_FIELDS.search(text, 0, text.find("\n---\n"))):
            return known["id"], int(known["revision"])
        front, _ = _split(text, path)
    except (ContentError, UnicodeDecodeError, FileNotFoundError):  # a command may have taken it away just now
        return "", 0
    own = (front.get("extensions") or {}).get("oneiros") or {}
    return str(own.get("sessionId", "")), int(own.get("revision", 1))


def _split(text: str, path: Path) -> tuple[dict[str, Any], str]:
    if not text.startswith("---\n") or "\n---\n" not in text:
        raise ContentError("the frontmatter is missing", where=path, line=1, remedy="Remove the file, then ingest")
    head, _, body = text[4:].partition("\n---\n")
    try:
        front = yaml.load(head, Loader=LOADER)  # noqa: S506  # the C form of the safe loader
    except yaml.YAMLError as error:
        raise ContentError(
            "the frontmatter is not YAML", where=path, line=1, remedy="Remove the file, then ingest"
        ) from error
    return (front if isinstance(front, dict) else {}), body


def _frontmatter(session: CompressedSession) -> dict[str, Any]:
    started, ended = stamp(session.started), stamp(session.ended)
    front: dict[str, Any] = {
        "id": str(uuid.uuid5(NAMESPACE, f"{session.session_id}/{session.revision}")),
        "type": "episodic",
        "created": ended or started,
        "title": session.title,
        "summary": session.summary[:SUMMARY_CHARS],
        "tags": ["session", session.outcome],
        "project": session.project_name,
        "machine": session.machine,
        "namespace": "_episodic/sessions",
        "temporal": {"validFrom": started, "recordedAt": ended or started},
        "provenance": {
            "sourceType": "system_generated",
            "sourceRef": f"session:{session.session_id}",
            "agent": session.compressor,
            "wasDerivedFrom": f"archive:{session.source_hash}",
        },
    }
    if session.agent:
        front["agent"] = session.agent
    if session.supersedes:
        target = f"sessions/compressed/{session.year}/{session.supersedes}"  # from the memory root
        front["relationships"] = [{"type": "supersedes", "target": target}]
    front["extensions"] = {"oneiros": _own_fields(session)}
    return front


def _own_fields(session: CompressedSession) -> dict[str, Any]:
    fields = {
        "sessionId": session.session_id,
        "revision": session.revision,
        "supersedes": session.supersedes,
        "project": session.project,
        "cwd": session.cwd,
        "branch": session.branch,
        "machine": session.machine,
        "started": stamp(session.started),
        "ended": stamp(session.ended),
        "turns": session.turns,
        "tokens": session.tokens,
        "tools": session.tools,
        "filesTouched": list(session.files_touched),
        "commits": list(session.commits),
        "outcome": session.outcome,
        "importance": round(session.importance, 2),
        "sourceHash": session.source_hash,
        "compressor": session.compressor,
        "fallback": session.fallback,
    }
    return {name: value for name, value in fields.items() if value not in ("", [], {}, None)}


def make_slug(title: str) -> str:
    """A few words of the title, safe in a file name anywhere."""
    words = re.findall(r"[a-z0-9]+", unify(title).casefold())[:SLUG_WORDS]
    return "-".join(words)[:60].strip("-") or "session"


def project_name(project: str) -> str:
    """A short name to show and to filter by: the folder that holds `.git`, or the folder itself, on any system.

    A worktree is called by the folder above it that is none, and so is a folder whose own name tells nothing, such as
    `src`, `main` or `1`; by its own name where none above it tells more, below the home of an account.
    """
    return (split_folders(project)[: _count_to_name(project)] or ["unknown"])[-1]


def find_project_folder(project: str) -> str:
    """The folder that a project is called by, see `project_name`: of all its worktrees and checkouts the same."""
    if WINDOWS_PATH.match(project) or not project.startswith("/"):
        return project
    return "/" + "/".join(split_folders(project)[: _count_to_name(project)])


def _count_to_name(project: str) -> int:
    """How many folders of its path lead to the one that a project is called by, that one included."""
    folders, account = split_folders(project), ACCOUNT.match(project)
    start = len(split_folders(account[0])) if account else 0
    trunk = list(takewhile(lambda name: name.lstrip(".") != "worktrees", folders[start:]))
    telling = (at for at, name in enumerate(trunk, start + 1) if _is_telling(name))
    return max(telling, default=len(folders))


def _is_telling(name: str) -> bool:
    return name.casefold() not in TELLS_NOTHING and not name.isdigit()


def folder_name(project: str) -> str:
    """What the folder of a project is itself called, which a rule of its person may name."""
    return (split_folders(project) or ["unknown"])[-1]


def split_folders(project: str) -> list[str]:
    """The folders of a project's path, on any system, from the outermost to the one that holds `.git`."""
    parts = [part for part in (WINDOWS_SEPARATOR if WINDOWS_PATH.match(project) else SEPARATOR).split(project) if part]
    return parts[:-1] if len(parts) > 1 and parts[-1] == ".git" else parts


def cut_id8(session_id: str) -> str:
    """The part of a session id that stands in file names: its first 8 letters and digits."""
    return re.sub(r"[^A-Za-z0-9]", "", session_id)[:8]


def parse_id8(path: str) -> str:
    """The beginning of a session's id that a compressed session's path ends with; empty for any other source."""
    if not path.startswith("sessions/compressed/"):
        return ""
    parts = path.removesuffix(".md").rsplit("-", 2)
    return parts[-2] if parts[-1].startswith("r") and parts[-1][1:].isdigit() else parts[-1]


def find_subject(path: str) -> str:
    """What the file of a session and its turns, `sessions/archive/<id>`, have in common; of others, their path."""
    return parse_id8(path) or (cut_id8(path.removeprefix(ARCHIVED)) if path.startswith(ARCHIVED) else path)


def stamp(moment: datetime | None) -> str:
    """A time with the offset of the place where it was; empty for none."""
    return local(moment).isoformat(timespec="seconds").replace("+00:00", "Z") if moment else ""


def _moment(value: object) -> datetime | None:
    if isinstance(value, datetime):
        return value
    try:
        return datetime.fromisoformat(str(value))
    except ValueError:
        return None


LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast, where libyaml was there at build time
