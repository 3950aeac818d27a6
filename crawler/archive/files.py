"""One file on its way into the archive: a transcript, or a conversation of another agent in the place of one.

A transcript that grew is read from where reading ended; a file of another agent is read again from the start whenever
it has changed, and what its reader did not know is noted beside it, so that `doctor` can say it without reading
anything. The archive keeps each entry once, by its id, masked in every field that can hold a person's words.
"""

import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import msgspec

from crawler.archive.discovery import RECORDS_JUDGED, FoundFile, find_session_id, find_source, judge
from crawler.sources.agent import AgentSource
from crawler.sources.conversation import AgentConversation, AgentFile, version_key
from crawler.transcripts.entry import Entry, EntryPart, PartKind, is_made_of_another
from crawler.transcripts.injected import is_own_session
from crawler.transcripts.tail import FileState, PrefixHash, TailState, Verdict, copy_key
from crawler.transcripts.transcript import BadLine, TranscriptReader
from memory_server.errors import ContentError, Problem
from memory_server.escaping import escape_line
from memory_server.redaction import Redactor

HEAD_BYTES = 64 * 1024  # looked at to tell whose file it is
AGAIN = "Ingest again: it is then sent anew"
WARMUP = "Warmup"  # all that a client says to sub-agents which it starts ahead
PEEKED_ENTRIES = 400  # a session names its folder and its first prompt long before
MAX_DEPTH = 100  # of a call's arguments; deeper ones, which no tool takes, are left out, as not all could be masked


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


@dataclass(frozen=True, slots=True)
class RefusedFile:
    """A file that was not taken in, and why."""

    path: Path
    verdict: Verdict
    reason: str


class TranscriptRead:
    """One file being read: from where, into which session."""

    agent = ""

    def __init__(self, file: FoundFile, stream: BinaryIO, known: FileState | None):
        self.file = file
        self.is_agents = file.is_agents
        self.session_id = self.source = self.cwd = ""
        self.offset = self.line = self._unread = 0
        self.problems: list[Problem] = []
        self._stream = stream
        self._hash = PrefixHash()
        if file.base:
            if known is None or known.offset != file.base:
                raise ContentError("what was sent does not continue what was read", where=file.name, remedy=AGAIN)
            self.offset, self.line, self._unread = known.offset, known.line, known.unread
            self.session_id, self.source = known.session_id, known.source
        elif known and known.verdict is Verdict.TAKEN and not file.is_packed and not file.sent:
            if self._hash.carry_on(stream, known.offset) == known.prefix:
                self.offset, self.line, self._unread = known.offset, known.line, known.unread
            else:
                self._hash = PrefixHash()

    def judge(self) -> RefusedFile | None:
        """Finds out session, source and folder from the first records; a refusal where the file is not to be taken."""
        self._stream.seek(0)
        head = self._stream.read(HEAD_BYTES)
        self._stream.seek(0)
        reader = TranscriptReader(self._stream, path=str(self.file.name), end=self._end)
        verdict, why = judge(islice(reader.records(), RECORDS_JUDGED), head)
        if verdict is not Verdict.TAKEN:
            self.problems += reader.problems  # of a file that is taken they are found again
            return RefusedFile(self.file.name, verdict, why)
        self._stream.seek(0)
        first_session_id = first_prompt = ""
        for entry in islice(TranscriptReader(self._stream), PEEKED_ENTRIES):
            first_session_id = first_session_id or entry.session_id
            self.cwd = self.cwd or entry.cwd
            if not first_prompt and entry.parts and entry.parts[0].kind is PartKind.PROMPT:
                first_prompt = entry.parts[0].text
            if first_prompt and self.cwd and first_session_id:
                break
        self.session_id = find_session_id(self.file.name, first_session_id, head)
        self.source = find_source(self.file.name)
        if is_made_of_another(first_session_id):
            self.problems.append(self._make_name_problem())
        if self.is_agents and first_prompt.strip() == WARMUP:
            return RefusedFile(self.file.name, Verdict.OWN, "a sub-agent that the client started to warm up")
        if is_own_session(first_prompt):
            return RefusedFile(self.file.name, Verdict.OWN, "a session of the compressor or of dream")
        return None

    def reader(self) -> TranscriptReader:
        self._stream.seek(self.offset - self.file.base)
        path = str(self.file.name)
        return TranscriptReader(self._stream, path=path, offset=self.offset, line=self.line, end=self._end)

    @property
    def _end(self) -> float:
        """Where reading ends: what is written meanwhile is left for the next run, or there might be no end of it."""
        return math.inf if self.file.is_packed else self.file.base + os.fstat(self._stream.fileno()).st_size

    def _make_name_problem(self) -> Problem:
        remedy = f"It is kept as session {self.session_id}. If it is not yours, remove it and forget that"
        what = "what its first entry calls its session is no id"
        return Problem(escape_line(str(self.file.name)), 1, what, remedy, "session-id")

    def make_state(self, reader: TranscriptReader | Listed, rules: str) -> FileState:
        return replace(
            make_state(self.file, Verdict.TAKEN, self.session_id, self.source),
            offset=reader.offset,
            line=reader.line,
            prefix=self._prefix(reader.offset),
            rules=rules,
            unread=self._unread + reader.unread,
        )

    def _prefix(self, offset: int) -> bytes:
        """The hash of so many first bytes, by which an append is told from a rewrite; empty where it is not known."""
        if self.file.is_packed:
            return b""
        return self.file.sent.prefixes.get(offset, b"") if self.file.sent else self._hash.carry_on(self._stream, offset)


class ConversationRead:
    """One conversation being taken in."""

    is_agents = False  # its reader has told already which entries are a sub-agent's
    offset = 0

    def __init__(self, file: FoundFile, talk: AgentConversation, *, is_first: bool):
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
        state = make_state(self.file, Verdict.TAKEN, self.session_id, self.source)
        return replace(state, prefix=self._stamp, rules=rules)


Read: TypeAlias = TranscriptRead | ConversationRead


def make_state(file: FoundFile, verdict: Verdict, session_id: str, source: str = "", reason: str = "") -> FileState:
    """What is noted of a file as it was looked at."""
    return FileState(
        str(file.name),
        file.inode,
        file.size,
        file.changed_ns,
        verdict,
        session_id=session_id,
        source=source,
        reason=reason,
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
    reason = msgspec.json.encode(Seen(source.NAME, version, dict(unknown))).decode()
    state = make_state(file, Verdict.TAKEN, session_id, reason=reason)
    return replace(state, rules=rules, unread=len(found.bad_lines))


class FreshEntries:
    """Turns entries that another session owns into links, and remembers the keys of the rest."""

    def __init__(self, tail: TailState, session_id: str, forgotten: set[str]):
        self.keys: list[str] = []
        self.dropped = 0
        self._tail = tail
        self._session_id = session_id
        self._forgotten = forgotten

    def drop_known(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        for entry in entries:
            if entry.is_link:
                yield entry
                continue
            key = copy_key(entry)
            if key in self._forgotten or self._tail.find_owner(key) not in ("", self._session_id):
                self.dropped += 1
                yield Entry(id=entry.id, parent=entry.parent)
            else:
                self.keys.append(key)
                yield entry


# -- masking --------------------------------------------------------------------------------------------------------


class EntryRedactor:
    """Applies a redactor to entries. Remembers short fields, which repeat on every entry of a session."""

    def __init__(self, redactor: Redactor):
        self.masked = 0  # secrets found so far
        self._redactor = redactor
        self._short: dict[str, str] = {}

    def redact(self, entry: Entry) -> Entry:
        """The entry without secrets; the same object where there were none."""
        if entry.is_link:
            return entry
        return msgspec.structs.replace(
            entry,
            parts=tuple(self._part(part) for part in entry.parts),
            cwd=self._redact_repeated(entry.cwd),
            branch=self._redact_repeated(entry.branch),
        )

    def _part(self, part: EntryPart) -> EntryPart:
        text = self._text(part.text)
        arguments = self._arguments(part.arguments)
        tool = self._redact_repeated(part.tool)
        if (text, arguments, tool) == (part.text, part.arguments, part.tool):
            return part
        return msgspec.structs.replace(part, text=text, arguments=arguments, tool=tool)

    def _text(self, text: str) -> str:
        redacted = self._redactor.redact(text)
        self.masked += len(redacted.spans)
        return redacted.text

    def _arguments(self, arguments: str) -> str:
        if not arguments:
            return ""
        try:
            before = msgspec.json.decode(arguments)
        except RecursionError:
            return ""
        if arguments.count("[") + arguments.count("{") > MAX_DEPTH and _is_deeper(before, MAX_DEPTH):
            return ""
        after = self._redactor.redact_json(before)
        if after == before:
            return arguments
        self.masked += 1
        return msgspec.json.encode(after).decode()

    def _redact_repeated(self, text: str) -> str:
        if text not in self._short:
            self._short[text] = self._redactor.redact(text).text
        return self._short[text]


def _is_deeper(value: Any, depth: int) -> bool:
    """Whether lists and objects lie in each other more than so many deep."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return inner is not None and (depth == 0 or any(_is_deeper(item, depth - 1) for item in inner))
