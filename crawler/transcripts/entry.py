"""One record of a transcript, freed from everything that is not conversation, and what its ids and lines may be.

This is what the archive keeps and what turns are joined from. It holds no image, no thinking, no prompt snapshot; its
texts are what was said, called or returned. Judging *several* entries together (who repeats whom, which branch is
live) is the work of `turns.py`.

Ids and lines end up in file names, footnotes and commit messages, and a transcript is a file that anybody may have
written. What does not fit is neither refused nor cut out: an id becomes a hash of itself, so that parents and calls are
still found by it, a line has its breaks and hidden marks written out, and a time that a wrong clock stamped goes.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path

import msgspec

from memory_server.escaping import escape_line, escape_text, plural

ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
FITS = ID.fullmatch
MADE_END = "-odd"  # of an id that stands for one outside the grammar
IDS = ("id", "parent", "message_id", "session_id", "agent")  # of an entry
LINES = ("time", "cwd", "branch", "version")
MOST_AHEAD = timedelta(days=1)  # of another clock; what is stamped later was not written then
EARLIEST = datetime(2002, 1, 1, tzinfo=UTC)  # clocks that nobody set begin in 1970, 1980, 2000 or 2001
MAX_LINE_CHARS = 4_096  # as long as a path may be


class PartKind(StrEnum):
    """What a piece of an entry is, as far as the entry alone can tell."""

    PROMPT = "prompt"  # words of the person
    QUEUED = "queued"  # words of the person, typed while the client was busy; a later entry may repeat them
    TAKEN_BACK = "taken_back"  # queued words that went back into the person's prompt: what they send is told then
    BESIDE_RESULT = "beside_result"  # words of the person in the entry of a tool result
    COMMAND = "command"  # a slash command or skill that the person called, as "/name arguments"
    SHELL = "shell"  # a `!` line of the person
    INTERRUPTION = "interruption"  # the person stopped the assistant
    TEXT = "text"  # words of the assistant
    PLAN = "plan"  # a plan of the assistant that comes back as the first prompt of a session
    TEAMMATE = "teammate"  # a report of another agent
    CALL = "call"  # the assistant calls a tool
    RESULT = "result"  # what the tool returned
    TITLE = "title"  # the session's name


# msgspec.Struct stands here instead of a dataclass: the archive decodes these by the hundred thousand, and leaves
# out what equals its default.
class EntryPart(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A piece of an entry. `arguments` is the JSON text of a tool call's input."""

    kind: PartKind
    text: str = ""
    tool: str = ""
    call_id: str = ""
    arguments: str = ""
    is_error: bool = False


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One record. Without parts it is a mere link, kept so that the chain of parents stays whole."""

    id: str  # the uuid; for records without one a hash that a copy shares
    parent: str = ""
    time: str = ""  # ISO 8601 as the client wrote it
    parts: tuple[EntryPart, ...] = ()
    message_id: str = ""  # shared by all entries of one reply
    session_id: str = ""
    cwd: str = ""
    branch: str = ""
    version: str = ""
    agent: str = ""  # id of the sub-agent whose side-chain this is
    is_sidechain: bool = False
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def is_link(self) -> bool:
        """Whether nothing but the place in the chain of parents is left of this record."""
        return not self.parts


def in_side_chain(entry: Entry, agent: str) -> Entry:
    """The entry as one of a sub-agent's file, where some clients leave out the mark that says so."""
    if entry.is_link:
        return entry
    return msgspec.structs.replace(entry, is_sidechain=True, agent=entry.agent or agent)


def parse_time(entry: Entry) -> datetime | None:
    """The entry's time, aware; None where the client wrote none or something else."""
    try:
        moment = datetime.fromisoformat(entry.time)
    except ValueError:
        return None
    return moment if moment.tzinfo else None


# -- what an id and a line may be -----------------------------------------------------------------------------------


def is_id(text: str) -> bool:
    """Whether a text may be the id of a session, an entry, an agent, a message or a call."""
    return ID.fullmatch(text) is not None


def as_id(text: str) -> str:
    """The id, or where it is none a hash of it; an empty text stays empty."""
    if not text or is_id(text):
        return text
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest() + MADE_END


def is_made_of_another(text: str) -> bool:
    """Whether an id is what `as_id` made of a text that was none."""
    return text.endswith(MADE_END)


def as_line(text: str) -> str:
    """The text as one line without control, bidi or zero-width marks: they are written out as `\\u000a`."""
    if text.isascii() and text.isprintable() and len(text) <= MAX_LINE_CHARS:  # one short line that hides nothing
        return text
    return escape_text(text[:MAX_LINE_CHARS]).replace("\n", r"\u000a").replace("\t", r"\u0009")[:MAX_LINE_CHARS]


def in_grammar(entry: Entry) -> Entry:
    """The entry with every id and line in the grammar."""
    ids = {name: as_id(getattr(entry, name)) for name in IDS}
    lines = {name: as_line(getattr(entry, name)) for name in LINES}
    return msgspec.structs.replace(entry, **ids, **lines)


class Grammar:
    """Holds the entries of one transcript to it. What repeats from one to the next is looked at once."""

    def __init__(self) -> None:
        self._last_id = ""
        self._repeated: tuple[str, ...] = ()  # where the last entry with words was written, in the grammar

    def hold(self, entry: Entry) -> Entry:
        """The entry in the grammar; the same object where it was. Every entry passes here: calls are few on purpose."""
        last_id, parent = self._last_id, entry.parent
        self._last_id = entry.id
        if FITS(entry.id) and (parent == last_id or not parent or FITS(parent)):
            if not entry.parts:
                return entry
            time, message_id = entry.time, entry.message_id
            is_moment = time.isascii() and time.isprintable() and len(time) < MAX_LINE_CHARS
            if is_moment and (not message_id or FITS(message_id)) and self._repeated == list_repeated(entry):
                return entry
        held = in_grammar(entry)
        self._last_id, self._repeated = held.id, list_repeated(held)
        return held


def list_repeated(entry: Entry) -> tuple[str, ...]:
    """What repeats from one entry to the next."""
    return entry.session_id, entry.agent, entry.cwd, entry.branch, entry.version


class Stamps:
    """The times of the records of one file. What a wrong clock stamped is kept without one: it dates no session."""

    def __init__(self, latest: datetime | None, changed_ns: int = 0):
        """`latest`: what is stamped later is wrong; None where nobody knows the time. `changed_ns`: when the file was
        written, in ns: this machine's own clock may be the one that is behind.
        """
        written = datetime.fromtimestamp(changed_ns / 1e9, UTC)
        self._latest = latest and max(latest, written + MOST_AHEAD)
        self._wrong: list[str] = []

    def check(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        """The entries, those with a wrong time without it."""
        for entry in entries:
            moment = parse_time(entry)
            if moment and (moment < EARLIEST or (self._latest is not None and moment > self._latest)):
                self._wrong.append(entry.time)
                entry = msgspec.structs.replace(entry, time="")
            yield entry

    def remarks(self, path: Path) -> Iterator[str]:
        """What to say of the file: one sentence, where a time was wrong."""
        if self._wrong:
            remark = f"{plural(len(self._wrong), 'record')} stamped by a wrong clock, {escape_line(self._wrong[0])}"
            yield f"{escape_line(str(path))}: {remark}. Nothing to mend: the other records date the session."
