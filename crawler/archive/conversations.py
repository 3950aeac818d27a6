"""A conversation of another agent in the place of a transcript: what the archive asks of either.

Its file is read again from the start whenever it has changed; the archive keeps each entry once, by its id. What the
reader did not know of a file is noted beside it, so that `doctor` can say it without reading anything.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import msgspec

from crawler.archive.discovery import FoundFile
from crawler.sources.agent import AgentSource
from crawler.sources.conversation import AgentFile, Conversation, version_key
from crawler.transcripts.entry import Entry
from crawler.transcripts.tail import FileState, Verdict
from crawler.transcripts.transcript import BadLine
from memory_server.errors import Problem


class Seen(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a file of another agent turned out to be, as the table of files keeps it in JSON."""

    agent: str
    version: str = ""
    unknown: dict[str, int] = {}  # msgspec copies it


@dataclass(slots=True)
class Listed:
    """The entries of a conversation, with what a reader of transcripts tells of its file."""

    entries: list[Entry]
    offset: int
    line: int = 0
    bad_lines: list[BadLine] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    unread: int = 0

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)


class ConversationRead:
    """One conversation being taken in."""

    is_agents = False  # its reader has told already which entries are a sub-agent's
    offset = 0

    def __init__(self, file: FoundFile, talk: Conversation, *, is_first: bool):
        self.file = replace(file, path=file.path / talk.key) if talk.key else file
        self.agent = talk.agent
        self.session_id = talk.session_id
        self.source = talk.source
        self.cwd = talk.cwd
        self.problems: list[Problem] = []
        self._entries = talk.entries
        self._stamp = talk.stamp.encode()
        self._bytes = file.size if is_first else 0  # of a file that holds several they count once

    def reader(self) -> Listed:
        return Listed(self._entries, self._bytes)

    def make_state(self, _: object, rules: str) -> FileState:
        return replace(self._state(Verdict.TAKEN), prefix=self._stamp, rules=rules)

    def make_refused_state(self, verdict: Verdict, reason: str) -> FileState:
        return replace(self._state(verdict), reason=reason)

    def _state(self, verdict: Verdict) -> FileState:
        file = self.file
        return FileState(
            str(file.path),
            file.inode,
            file.size,
            file.changed_ns,
            verdict,
            session_id=self.session_id,
            source=self.source,
        )


def with_log(file: FoundFile) -> FoundFile:
    """A file with the log that SQLite keeps beside it, where the last changes of a database stand."""
    try:
        log = file.path.with_name(f"{file.path.name}-wal").stat()
    except OSError:
        return file
    return replace(file, size=file.size + log.st_size, changed_ns=max(file.changed_ns, log.st_mtime_ns))


def state_of_file(
    file: FoundFile, source: AgentSource, found: AgentFile, before: FileState | None, *, session_id: str, rules: str
) -> FileState:
    """What is noted of a file whose conversations were taken in.

    `before`: what was noted last; of a file that holds many only those that changed were read. `session_id`: of one
    that holds a single one.
    """
    unknown, version = found.unknown, found.version
    if found.stamps and before and before.reason:
        last = msgspec.json.decode(before.reason, type=Seen)
        unknown, version = unknown | Counter(last.unknown), max(version, last.version, key=version_key)
    return FileState(
        path=str(file.path),
        inode=file.inode,
        size=file.size,
        changed_ns=file.changed_ns,
        verdict=Verdict.TAKEN,
        session_id=session_id,
        reason=msgspec.json.encode(Seen(source.NAME, version, dict(unknown))).decode(),
        rules=rules,
        unread=len(found.bad_lines),
    )


@dataclass(slots=True)
class SeenOfAgent:
    """What is known of all files of an agent that were read."""

    files: int = 0
    version: str = ""
    unknown: Counter[str] = field(default_factory=Counter)


def collect_seen(states: Iterator[FileState]) -> dict[str, SeenOfAgent]:
    """The files read of each agent, by its name."""
    found: dict[str, SeenOfAgent] = {}
    for state in states:
        if state.verdict is Verdict.TAKEN and state.reason:
            seen = msgspec.json.decode(state.reason, type=Seen)
            of_agent = found.setdefault(seen.agent, SeenOfAgent())
            of_agent.files += 1
            of_agent.unknown.update(seen.unknown)
            of_agent.version = max(of_agent.version, seen.version, key=version_key)
    return found
