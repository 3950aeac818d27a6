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

State = TypeVar("State")

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

    past: Mapping[str, str] = field(default_factory=dict)  # id -> mark, of readings that are over
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
        replace_file(self._file, msgspec.json.encode(state))

    def glance(self, now: dt.datetime) -> bool:
        """Whether the flag is up, or should be: as `refresh_flag`, but sessions are listed and none is read.

        For the start of a session, which must not wait. A session that only grew is seen by the next full look.
        """
        state = self.read()
        is_due = state.last_run is None or now - state.last_run >= DUE_AFTER
        if is_due and any(file.stem not in state.sessions for file in self._records.glob("*.json")):
            make_folder(self._flag.parent)
            self._flag.touch()
        return self.is_pending

    def mistakes(self) -> dict[str, tuple[Mistake, ...]]:
        """The mistakes of every session that was read, by its id."""
        return _decoded(self._mistakes, dict[str, tuple[Mistake, ...]], {})

    def save_mistakes(self, mistakes: Mapping[str, Sequence[Mistake]]) -> None:
        replace_file(
            self._mistakes,
            msgspec.json.encode({name: found for name, found in mistakes.items() if found}),
        )

    def serve(self, archive: Archive, now: dt.datetime) -> list[str]:
        """The sessions that the assistant is to read, oldest first: the same ones until its reading is over."""
        known = _decoded(self._served, Served, Served())
        if known.asked is not None and now - known.asked <= READING_GAP and known.now:
            self._save_served(replace(known, asked=now))
            return list(known.now)
        past = {**known.past, **known.now}
        waiting = {record.session_id: mark_of(record) for record in unread(archive, Read(past))[:MOST_SERVED]}
        self._save_served(Served(past, waiting, now))
        return list(waiting)

    def _save_served(self, served: Served) -> None:
        replace_file(self._served, msgspec.json.encode(served))

    def forget(self, session_ids: Collection[str]) -> None:
        """Removes everything that was noted of these sessions."""
        state = self.read()
        left = {name: mark for name, mark in state.sessions.items() if name not in session_ids}
        self.save(replace(state, sessions=left))
        self.save_mistakes({name: found for name, found in self.mistakes().items() if name not in session_ids})
        served = _decoded(self._served, Served, Served())
        past, now = (
            {n: mark for n, mark in part.items() if n not in session_ids} for part in (served.past, served.now)
        )
        self._save_served(replace(served, past=past, now=now))

    @property
    def is_pending(self) -> bool:
        """Whether the flag is up."""
        return self._flag.exists()

    def refresh_flag(self, archive: Archive, now: dt.datetime) -> bool:
        """Raises or lowers the flag: up when a day has passed since the last run and a session is unread."""
        state = self.read()
        is_due = state.last_run is None or now - state.last_run >= DUE_AFTER
        if is_due and unread(archive, state):
            make_folder(self._flag.parent)
            self._flag.touch()
        else:
            self._flag.unlink(missing_ok=True)
        return self.is_pending


def _decoded(file: Path, kind: type[State], empty: State) -> State:
    """The content of a file of ours; `empty` where it is missing or damaged, since all of it is derived."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=kind)
    except (FileNotFoundError, msgspec.MsgspecError):
        return empty


def unread(archive: Archive, state: Read) -> list[SessionRecord]:
    """The archived sessions with something in them that was not read, oldest first."""
    return sorted(
        (record for record in archive.records() if state.sessions.get(record.session_id) != mark_of(record)),
        key=lambda record: (record.ended, record.session_id),
    )


def mark_of(record: SessionRecord) -> str:
    """What changes when a session grows, and not when its archive is packed anew."""
    return f"{record.ended}/{sum(len(segment.entries) for segment in record.segments)}"
