"""Finds transcripts below folders, and says whose file one is before it is read: of which session, and whether Claude
Code wrote it.

The client's format has no signature, and its neighbours resemble it (one of them down to `uuid` and `parentUuid`). What
only Claude Code writes is a `user` or `assistant` record whose `message` is an object with `content`.
"""

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from crawler.archive.store import MAIN
from crawler.transcripts.classify import Record, decode_json
from crawler.transcripts.tail import Verdict, is_uuid
from crawler.transcripts.transcript import find_agent, not_a_file, reading
from memory_server.errors import ContentError, Problem
from memory_server.escaping import escape_line
from memory_server.machine.files import UNREADABLE_JSON

SUFFIXES = (".jsonl", ".jsonl.xz")
PROJECTS = "projects"  # the folder of the client in which each project has one
NO_TRANSCRIPTS = frozenset({"memory", "tool-results", "file-history", "node_modules", ".git"})  # folders passed over
UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
STEM_CHARS = 55  # of a file's name in an id: with its mark it has 64 at most
RECORDS_JUDGED = 200  # a transcript shows itself within its first few records

# How other tools' records give themselves away: a fragment of the first lines, then the name to show.
SIGNATURES = (
    (b'"originator":"codex', "Codex"),
    (b'"type":"session_meta"', "Codex"),
    (b'"type":"event_msg"', "Codex"),
    (b'"producer":"copilot-agent"', "Copilot"),
    (b'"systemPayload"', "Qwen Code"),
    (b'"projectHash"', "Gemini CLI"),
    (b'"source":"USER_EXPLICIT"', "Antigravity"),
    (b'"type":"CONVERSATION_HISTORY"', "Antigravity"),
    (b"You are Grok", "Grok"),
    (b'"synthetic_reason"', "Grok"),
    (b'"prompt_index"', "Grok"),
    (b'"protocol_version"', "Kimi"),
    (b'"sessionTitle"', "Droid"),
    (b'"model":"droid', "Droid"),
    (b'"type":"session","version":3,"id"', "Pi"),
    (b'"type":"session","id"', "OpenClaw"),
    (b'"mapping"', "an OpenAI chat export"),
    (b'"messages"', "an OpenAI training file"),
    (b'"edit_format"', "Aider"),
    (b'"event":', "Aider"),
    (b'{"role":"user","message"', "Cursor"),
    (b'{"role":"assistant","message"', "Cursor"),
)
BOOKKEEPING = frozenset(
    {"summary", "file-history-snapshot", "progress", "queue-operation", "attachment", "custom-title", "ai-title"}
    | {"last-prompt", "permission-mode", "mode", "agent-name", "api-request-shape", "system"}
)


@dataclass(frozen=True, slots=True)
class SentPart:
    """What another machine sent of a file."""

    name: Path  # the file there, behind the machine: `laptop:~/.claude/projects/...`
    base: int  # byte of the file at which it begins; what stands before was read earlier
    prefixes: Mapping[int, bytes]  # hash of so many first bytes of the file


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that may be a transcript, as the disk shows it; of another machine, as that one's disk does."""

    path: Path  # where it can be read
    inode: int
    size: int
    changed_ns: int
    sent: SentPart | None = None  # of another machine's: then only this lies at `path`

    @property
    def name(self) -> Path:
        """What the file is known by."""
        return self.sent.name if self.sent else self.path

    @property
    def base(self) -> int:
        """The byte of the file at which what lies at `path` begins."""
        return self.sent.base if self.sent else 0

    @property
    def is_agents(self) -> bool:
        """Whether it is the file of a sub-agent rather than of a conversation."""
        return bool(find_agent(self.name))

    @property
    def is_packed(self) -> bool:
        """Whether it must be unpacked to be read, and so cannot grow by appending."""
        return self.path.suffix == ".xz"


@dataclass(frozen=True, slots=True)
class Found:
    """What lies below some folders: the candidates, and what has the name of one and cannot be read."""

    files: tuple[FoundFile, ...]
    problems: tuple[Problem, ...]


def find_transcripts(paths: Iterable[Path], *, since: datetime | None = None) -> Found:
    """The candidates in the order in which to read them: conversations before sub-agents, older files before newer.

    The order decides which session owns the entries that a fork copied: the older file.
    """
    problems: list[Problem] = []
    named = [path.absolute() for path in paths]
    places = dict.fromkeys(place for path in named for place in (path, *find_linked_folders(path)))
    read = [place.resolve() for place in places]
    found = find_files((one for place in places for one in _candidates(place, read, problems)), since=since)
    return Found(found.files, (*problems, *found.problems))


def find_linked_folders(folder: Path) -> list[Path]:
    """The folders of projects, here or in `projects`, that are links, by their real paths; none that holds this one.

    Whoever moves a project to another disk leaves such a link. Deeper ones are not followed.
    """
    here, found = folder.resolve(), set[Path]()
    for place in (folder, folder / PROJECTS):
        with suppress(OSError), os.scandir(place) as entries:  # there may be no such folder
            found |= {Path(entry.path).resolve() for entry in entries if entry.is_symlink() and entry.is_dir()}
    return sorted(link for link in found if not here.is_relative_to(link) and not link.is_relative_to(here))


def find_files(candidates: Iterable[Path], *, since: datetime | None = None) -> Found:
    """These files as the disk shows them, in the order in which to read them."""
    found: dict[Path, FoundFile] = {}  # by real path: one below a folder with two names is read once
    problems: list[Problem] = []
    for candidate in candidates:
        try:
            file = inspect_file(candidate)
        except ContentError as error:
            problems.append(make_problem(error, candidate))
            continue
        if since is None or file.changed_ns >= since.timestamp() * 1e9:
            found.setdefault(file.path.resolve(), file)
    return Found(tuple(in_order(found.values())), tuple(problems))


def in_order(files: Iterable[FoundFile]) -> list[FoundFile]:
    """Conversations before sub-agents, older files before newer."""
    return sorted(files, key=lambda file: (file.is_agents, file.changed_ns, str(file.name)))


def inspect_file(path: Path) -> FoundFile:
    """A file as the disk shows it. Raises ContentError for what is none, or is named so that nothing can be noted."""
    if not is_utf8(path):
        raise ContentError("its name is not UTF-8", where=path, remedy="Rename it")
    with reading(path):
        found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise not_a_file(path)
    return FoundFile(path, found.st_ino, found.st_size, found.st_mtime_ns)


def is_utf8(path: Path) -> bool:
    """Whether a path can be written down as text."""
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def make_problem(error: ContentError, path: Path) -> Problem:
    """An error as one finding among others; `path` is where it was met, unless the error knows better."""
    return Problem(escape_line(str(error.where or path)), error.line or 1, error.what, error.remedy, "transcript")


def _candidates(path: Path, read: Sequence[Path], problems: list[Problem]) -> Iterator[Path]:
    """What is named like a transcript at or below a path; folders that cannot be read are noted, and links that lead
    out of all that is read.
    """

    def note(place: Path | str, what: str, remedy: str) -> None:
        problems.append(Problem(escape_line(str(place)), 1, what, remedy, "transcript"))

    def refuse(error: OSError) -> None:
        note(error.filename, f"this folder cannot be read ({error.strerror})", "Check its rights")

    if not path.is_dir():
        yield from (path,) if os.path.lexists(path) else ()
        return
    projects = path / PROJECTS if (path / PROJECTS).is_dir() else path  # what else a client keeps has links of its own
    for folder, folders, names in os.walk(path, onerror=refuse):
        here = Path(folder)
        folders[:] = sorted(name for name in folders if name not in NO_TRANSCRIPTS)
        for place in (here / name for name in folders):
            if place.name.endswith(SUFFIXES):
                note(place, "this folder has the name of a transcript", "Rename it; what lies in it is read")
            elif here.is_relative_to(projects) and place.is_symlink() and not _is_below(place, read):
                note(place, "a link to a folder is not followed here", "Put the folder itself in its place")
        for place in (here / name for name in sorted(names)):
            if place.name.endswith(SUFFIXES):
                yield place
            elif here == projects and place.is_symlink() and not place.exists():
                note(place, "this link leads nowhere", "Bring back what it leads to, or remove it")


def _is_below(place: Path, folders: Iterable[Path]) -> bool:
    return any(map(place.resolve().is_relative_to, folders))


def cut_suffixes(path: Path) -> str:
    """The file's name without `.jsonl` or `.jsonl.xz`."""
    return path.name.removesuffix(".xz").removesuffix(".jsonl")


def find_session_id(path: Path, first_session_id: str, first_bytes: bytes) -> str:
    """The session that a file belongs to.

    The client names a conversation's file after the session, and puts a sub-agent's file below a folder of that name.
    A file that somebody renamed is told by what its entries say, else by name and first line together.
    """
    if "subagents" in path.parts:
        parent = path.parts[path.parts.index("subagents") - 1]
        return safe_id(parent, b"")
    if path.name.startswith("agent-") and first_session_id:
        return safe_id(first_session_id, first_bytes)
    stem = cut_suffixes(path)
    if is_uuid(stem):
        return stem
    return first_session_id if is_uuid(first_session_id) else safe_id(stem, first_bytes)


def find_source(path: Path) -> str:
    """Which part of its session a file is: the conversation itself, or a sub-agent by its id."""
    agent = find_agent(path)
    return (UNSAFE.sub("-", agent)[:64] or "agent") if agent else MAIN


def safe_id(name: str, first_bytes: bytes) -> str:
    """An id in the grammar; one that is no UUID gets a hash of the first line, since names repeat."""
    if is_uuid(name):
        return name
    line = first_bytes.split(b"\n", 1)[0]
    mark = hashlib.blake2b(name.encode() + line, digest_size=4).hexdigest()
    return f"{UNSAFE.sub('-', name).strip('-')[:STEM_CHARS] or 'session'}-{mark}"


# -- whether Claude Code wrote it -----------------------------------------------------------------------------------


def judge(records: Iterable[Record], head: bytes) -> tuple[Verdict, str]:
    """Whether Claude Code wrote a transcript, from its first records, and why it is refused, where it is: TAKEN,
    FOREIGN, or OPEN while too little of it has been written. `head` is the raw start of the file.
    """
    seen = bookkeeping = misshapen = 0
    for record in records:
        seen += 1
        if is_conversation(record):
            return Verdict.TAKEN, ""
        misshapen += record.type in ("user", "assistant")
        bookkeeping += is_bookkeeping(record)
        if seen >= RECORDS_JUDGED:
            break
    if bookkeeping and not misshapen and not find_tool(head):
        return Verdict.TAKEN, ""
    if not seen and not head.strip(b"\x00 \t\r\n").count(b"\n"):
        return Verdict.OPEN, "no complete line yet"
    tool = find_tool(head)
    return Verdict.FOREIGN, f"written by {tool}" if tool else "no record in the shape that Claude Code writes"


def is_conversation(record: Record) -> bool:
    """Whether a record has the one shape that only Claude Code writes."""
    if record.type not in ("user", "assistant") or not (record.uuid or record.session_id):
        return False
    raw = bytes(record.message)
    if not raw.startswith(b"{") or b'"content"' not in raw:
        return False
    try:
        message = decode_json(record.message)
    except UNREADABLE_JSON:
        return False
    return isinstance(message, dict) and isinstance(message.get("content"), str | list)


def is_bookkeeping(record: Record) -> bool:
    """Whether a record is one of the kinds that stand beside the conversation."""
    return record.type in BOOKKEEPING and bool(record.session_id or record.uuid or bytes(record.leaf))


def find_tool(head: bytes) -> str:
    """The tool whose signature stands in the first bytes of a file, or an empty string."""
    compact = head.replace(b'": ', b'":').replace(b', "', b',"')
    return next((tool for signature, tool in SIGNATURES if signature in compact), "")
