"""Finds transcripts below folders, and says which session a file belongs to before it is read."""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from crawler.archive import MAIN
from crawler.tail import is_uuid
from crawler.transcript import agent_of

SUFFIXES = (".jsonl", ".jsonl.xz")
NO_TRANSCRIPTS = frozenset({"memory", "tool-results", "file-history", "node_modules", ".git"})  # folders passed over
UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
STEM_CHARS = 55  # of a file's name in an id: with its mark it has 64 at most


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that may be a transcript, as the disk shows it."""

    path: Path
    inode: int
    size: int
    changed_ns: int

    @property
    def is_agents(self) -> bool:
        """Whether it is the file of a sub-agent rather than of a conversation."""
        return bool(agent_of(self.path))

    @property
    def is_packed(self) -> bool:
        """Whether it must be unpacked to be read, and so cannot grow by appending."""
        return self.path.suffix == ".xz"


def find_transcripts(paths: Iterable[Path], *, since: datetime | None = None) -> list[FoundFile]:
    """The candidates in the order in which to read them: conversations before sub-agents, older files before newer.

    The order decides which session owns the entries that a fork copied: the older file.
    """
    found: dict[Path, FoundFile] = {}
    for path in paths:
        for candidate in _candidates(path):
            resolved = candidate.absolute()
            stat = candidate.stat()
            if since is None or stat.st_mtime >= since.timestamp():
                found[resolved] = FoundFile(resolved, stat.st_ino, stat.st_size, stat.st_mtime_ns)
    return sorted(found.values(), key=lambda file: (file.is_agents, file.changed_ns, str(file.path)))


def _candidates(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if name not in NO_TRANSCRIPTS)
        yield from (Path(folder, name) for name in sorted(names) if name.endswith(SUFFIXES))


def stem_of(path: Path) -> str:
    """The file's name without `.jsonl` or `.jsonl.xz`."""
    return path.name.removesuffix(".xz").removesuffix(".jsonl")


def session_of(path: Path, first_session_id: str, first_bytes: bytes) -> str:
    """The session that a file belongs to.

    The client names a conversation's file after the session, and puts a sub-agent's file below a folder of that name.
    A file that somebody renamed is told by what its entries say, else by name and first line together.
    """
    if "subagents" in path.parts:
        parent = path.parts[path.parts.index("subagents") - 1]
        return safe_id(parent, b"")
    if path.name.startswith("agent-") and first_session_id:
        return safe_id(first_session_id, first_bytes)
    stem = stem_of(path)
    if is_uuid(stem):
        return stem
    return first_session_id if is_uuid(first_session_id) else safe_id(stem, first_bytes)


def source_of(path: Path) -> str:
    """Which part of its session a file is: the conversation itself, or a sub-agent by its id."""
    agent = agent_of(path)
    return (UNSAFE.sub("-", agent)[:64] or "agent") if agent else MAIN


def safe_id(name: str, first_bytes: bytes) -> str:
    """An id in the grammar; one that is no UUID gets a hash of the first line, since names repeat."""
    if is_uuid(name):
        return name
    line = first_bytes.split(b"\n", 1)[0]
    mark = hashlib.blake2b(name.encode() + line, digest_size=4).hexdigest()
    return f"{UNSAFE.sub('-', name).strip('-')[:STEM_CHARS] or 'session'}-{mark}"
