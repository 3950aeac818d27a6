"""What the reader of an agent's file makes of it: conversations as chains of entries, in the shape of Claude Code's."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from crawler.transcripts.entry import Entry, as_line
from crawler.transcripts.transcript import BadLine
from memory_server.errors import Problem


@dataclass
class AgentConversation:
    """One conversation; `entries` in the order in which they were said, behind one that is the root of their chain."""

    agent: str
    session_id: str
    entries: list[Entry]
    key: str = ""  # names it within a file that holds several
    source: str = "main"
    cwd: str = ""
    stamp: str = ""  # of one among many in a file: differs once anything of it has changed


@dataclass(slots=True)
class AgentFile:
    """What one file turned out to hold beside its conversations."""

    path: Path
    speakers: frozenset[str] = frozenset()  # names of the person in conversations of several, case-folded
    unknown: Counter[str] = field(default_factory=Counter)  # types that the reader does not know, with how many
    version: str = ""  # the newest of the agent that wrote it
    bad_lines: list[BadLine] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    stamps: Mapping[str, str] = field(default_factory=dict)  # of the conversations in it that were read, by their keys

    def is_known(self, key: str, stamp: str) -> bool:
        """Whether a conversation was read as it stands."""
        return bool(stamp) and self.stamps.get(key) == stamp

    def saw_version(self, version: object) -> str:
        """The version as text, noted where it is the newest."""
        text = as_line(version) if isinstance(version, str) else ""
        self.version = max(self.version, text, key=version_key)
        return text


def version_key(version: str) -> tuple[int, ...]:
    """Versions in their order: 0.106.0 behind 0.99.1."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:4])


def hash_texts(*texts: str) -> str:
    return hashlib.blake2b("\0".join(texts).encode("utf-8", "replace"), digest_size=10).hexdigest()
