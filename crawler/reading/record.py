"""What a reader made of one session: the one record that digests, typed lines, habits and candidates are chosen from.

    sessions/readings/<session id>.json

A reader may be a model that was misled by what it read, so a line is a claim: its quotes were found in the session
before it was kept, and whoever uses it asks `proof.py` whether they say it. Lines that do not hold up are kept too: the
model was paid for them, and a better proof may let them pass without asking again. What is written was masked before; a
reading whose file is damaged counts as not there, and is made again.
"""

from collections.abc import Collection, Iterator
from enum import StrEnum
from pathlib import Path

import msgspec

from crawler.archive.store import SAFE_ID
from crawler.quotes import Quote
from memory_server.machine.files import UNREADABLE_JSON, remove_file, replace_file

FOLDER = "readings"  # beside the archive

MAX_TEXT = 400  # characters of a statement
MAX_QUOTES = 5  # of a statement


class LineKind(StrEnum):
    """What a line says."""

    DECISION = "decision"  # what was chosen, of what the work is or how it is built
    RULE = "rule"  # what is always or never done
    PREFERENCE = "preference"  # how the person likes it
    CORRECTION = "correction"  # something that was believed is wrong
    FACT = "fact"  # how something named is
    FINDING = "finding"  # what the assistant found out, and nobody took back
    LESSON = "lesson"  # an error, and what then worked
    HABIT = "habit"  # what the person asks for again and again
    IDEA = "idea"  # steps that could be one command


class Holds(StrEnum):
    """How long a line holds."""

    SURELY = "surely"
    PROBABLY = "probably"
    NOW = "for now"


class Outcome(StrEnum):
    """How a session ended."""

    SHIPPED = "shipped"
    PARTIAL = "partial"
    ABANDONED = "abandoned"
    UNKNOWN = "unknown"


class Line(msgspec.Struct, frozen=True, omit_defaults=True):
    """One statement of a session."""

    kind: LineKind
    text: str  # plain words that can be understood alone
    quotes: tuple[Quote, ...]  # its own words first; never empty
    holds: Holds = Holds.PROBABLY
    takes_back: str = ""  # what it ends: an older statement in the reader's words, or the line of a topic
    questions: tuple[str, ...] = ()  # that it answers; indexed, never shown
    topic: str = ""  # where the reader would file it: name, or name#section


class Request(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a person asked for in few words, to be counted over sessions."""

    words: str  # the telling words, sorted
    quote: Quote


class Failure(msgspec.Struct, frozen=True, omit_defaults=True):
    """A call that failed, and what then worked."""

    template: str  # the error without numbers, paths and ids
    entry: str  # of the call
    error: str
    worked: str = ""  # the command that then did it; empty where none is known


class Reading(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one reader made of one session in one state."""

    session_id: str
    mark: str  # of the state that was read
    reader: str  # rules, claude-cli, ...
    version: int  # of the prompt, or of the rules
    project: str = ""
    title: str = ""
    goal: str = ""
    outcome: Outcome = Outcome.UNKNOWN
    proof: str = ""  # the entry that shows how it ended: a commit, a passing test, a yes
    open: tuple[str, ...] = ()
    lines: tuple[Line, ...] = ()
    requests: tuple[Request, ...] = ()  # counted by the program, whoever read
    failures: tuple[Failure, ...] = ()  # likewise
    unfounded: tuple[str, ...] = ()  # statements whose quotes are not in the session
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def is_by_model(self) -> bool:
        return self.reader != RULES


RULES = "rules"  # the reader that asks nobody


class Readings:
    """The readings of one memory root. `folder` is `sessions/readings`."""

    def __init__(self, folder: Path):
        self.folder = folder

    def load(self, session_id: str) -> Reading | None:
        """A session's reading; None where there is none that can be read."""
        try:
            return msgspec.json.decode(self._file(session_id).read_bytes(), type=Reading)
        except (*UNREADABLE_JSON, OSError, ValueError):
            return None

    def every(self) -> Iterator[Reading]:
        """All readings, in the order of their sessions' ids."""
        for file in sorted(self.folder.glob("*.json")):
            if reading := self.load(file.stem):
                yield reading

    def save(self, reading: Reading) -> None:
        replace_file(self._file(reading.session_id), msgspec.json.encode(reading))

    def forget(self, session_ids: Collection[str]) -> None:
        for session_id in session_ids:
            remove_file(self._file(session_id))

    def _file(self, session_id: str) -> Path:
        if not SAFE_ID.match(session_id):
            raise ValueError(session_id)
        return self.folder / f"{session_id}.json"
