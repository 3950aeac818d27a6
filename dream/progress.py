"""Which sessions dream has read, and whether it is time to dream again.

Derived: where it is lost every session is read again, and nothing is asked twice, since hunks are known by their
evidence. The flag `.dream-pending` tells whoever starts a session that there is something to read.
"""

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import msgspec

from crawler.archive.store import Archive, SessionRecord
from dream.extract import Mistake
from memory_server.machine.files import make_folder, replace_file
from memory_server.root.paths import MemoryRoot

Known = TypeVar("Known")

STATE_NAME = "dream.json"
MISTAKES_NAME = "mistakes.json"
SERVED_NAME = "dream-served.json"
READING_GAP = dt.timedelta(hours=1)  # without a page asked for, after which a reading by the assistant is over
MOST_SERVED = 25  # sessions of one reading: more than a context holds
FLAG_NAME = ".dream-pending"
DUE_AFTER = dt.timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Read:
    """What has been read so far."""

    sessions: Mapping[str, str] = field(default_factory=dict)  # id -> mark of the state that was read
    last_run: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class Served:
    """What the assistant was given to read: apart from what the run without a model has read."""

    past: Mapping[str, str] = field(default_factory=dict)  # id -> mark, of sessions that were handed over to their end
    now: Mapping[str, str] = field(default_factory=dict)  # of the reading under way; its pages stay the same
    asked: dt.datetime | None = None


class DreamProgress:
    """The state of one memory root."""

    def __init__(self, root: MemoryRoot):
        self._file = root.derived / STATE_NAME
        self._mistakes = root.derived / MISTAKES_NAME
        self._served = root.derived / SERVED_NAME
        self._records = root.path / "sessions" / "archive" / "sessions"
        self._flag = root.derived / FLAG_NAME

    def read(self) -> Read:
        return _decoded(self._file, Read, Read())

    def save(self, state: Read) -> None:
        _write(self._file, state)

    def mistakes(self) -> dict[str, tuple[Mistake, ...]]:
        """The mistakes of every session that was read, by its id."""
        return _decoded(self._mistakes, dict[str, tuple[Mistake, ...]], {})

    def save_mistakes(self, mistakes: Mapping[str, Sequence[Mistake]]) -> None:
        _write(self._mistakes, {name: found for name, found in mistakes.items() if found})

    def serve(self, archive: Archive, now: dt.datetime) -> list[str]:
        """The sessions that the assistant is to read, oldest first: the same ones until its reading is over."""
        served = _decoded(self._served, Served, Served())
        if served.asked is None or now - served.asked > READING_GAP or not served.now:
            waiting = unread(archive, Read(served.past))[:MOST_SERVED]
            served = replace(served, now={record.session_id: mark_of(record) for record in waiting})
        _write(self._served, replace(served, asked=now))
        return list(served.now)

    def note_shown(self, session_ids: Collection[str]) -> None:
        """Notes sessions of the reading under way as read to their end; the next reading leaves them out."""
        served = _decoded(self._served, Served, Served())
        shown = {name: mark for name, mark in served.now.items() if name in session_ids}
        _write(self._served, replace(served, past={**served.past, **shown}))

    def forget(self, session_ids: Collection[str]) -> None:
        """Removes everything that was noted of these sessions."""

        def left(noted: Mapping[str, Known]) -> dict[str, Known]:
            return {name: known for name, known in noted.items() if name not in session_ids}

        state, served = self.read(), _decoded(self._served, Served, Served())
        self.save(replace(state, sessions=left(state.sessions)))
        self.save_mistakes(left(self.mistakes()))
        _write(self._served, replace(served, past=left(served.past), now=left(served.now)))

    @property
    def is_pending(self) -> bool:
        """Whether the flag is up."""
        return self._flag.exists()

    def refresh_flag(self, archive: Archive, now: dt.datetime) -> bool:
        """Raises or lowers the flag: up when a day has passed since the last run and a session is unread."""
        state = self.read()
        if self._is_due(state, now) and unread(archive, state):
            self._raise_flag()
        else:
            self._flag.unlink(missing_ok=True)
        return self.is_pending

    def glance(self, now: dt.datetime) -> bool:
        """Whether the flag is up, or should be: as `refresh_flag`, but sessions are listed and none is read.

        For the start of a session, which must not wait. A session that only grew is seen by the next full look.
        """
        state = self.read()
        if self._is_due(state, now) and any(file.stem not in state.sessions for file in self._records.glob("*.json")):
            self._raise_flag()
        return self.is_pending

    @staticmethod
    def _is_due(state: Read, now: dt.datetime) -> bool:
        return state.last_run is None or now - state.last_run >= DUE_AFTER

    def _raise_flag(self) -> None:
        make_folder(self._flag.parent)
        self._flag.touch()


def _write(file: Path, state: object) -> None:
    replace_file(file, msgspec.json.encode(state))


def _decoded(file: Path, kind: type[Known], empty: Known) -> Known:
    """The content of a file of ours; `empty` where it is missing or damaged, since all of it is derived."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=kind)
    except (FileNotFoundError, msgspec.MsgspecError):
        return empty


def unread(archive: Archive, state: Read) -> list[SessionRecord]:
    """The archived sessions with something in them that was not read, oldest first."""
    found = (record for record in archive.records() if state.sessions.get(record.session_id) != mark_of(record))
    return sorted(found, key=lambda record: (record.ended, record.session_id))


def mark_of(record: SessionRecord) -> str:
    """What changes when a session grows, and not when its archive is packed anew."""
    return f"{record.ended}/{sum(len(segment.entries) for segment in record.segments)}"
