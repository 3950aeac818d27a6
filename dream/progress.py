"""Which sessions dream has read, and whether it is time to dream again.

Derived: where it is lost every session is read again, and nothing is asked twice, since hunks are known by their
evidence. The flag `.dream-pending` tells whoever starts a session that there is something to read.
"""

import datetime as dt
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import msgspec

from crawler.archive.store import Archive, SessionRecord
from crawler.reading.record import RULES
from memory_server.machine.files import make_folder, read_json, replace_file
from memory_server.root.paths import MemoryRoot

Known = TypeVar("Known")
Wanted = Callable[[SessionRecord], bool]

STATE_NAME = "dream.json"
SERVED_NAME = "dream-served.json"
FLAG_NAME = ".dream-pending"
DUE_AFTER = dt.timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Read:
    """What has been read so far."""

    sessions: Mapping[str, str] = field(default_factory=dict)  # id -> mark of the state that was read
    last_run: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class Served:
    """What the assistant was given to read: apart from what the run without it has looked at."""

    past: Mapping[str, str] = field(default_factory=dict)  # id -> mark, of sessions behind which a page was asked for
    now: Mapping[str, str] = field(default_factory=dict)  # of the reading under way; its pages stay the same
    project: str = ""  # of these


class DreamProgress:
    """The state of one memory root."""

    def __init__(self, root: MemoryRoot):
        self._file = root.derived_folder / STATE_NAME
        self._served = root.derived_folder / SERVED_NAME
        self._records = root.path / "sessions" / "archive" / "sessions"
        self._flag = root.derived_folder / FLAG_NAME

    def read(self) -> Read:
        return read_json(self._file, Read, Read())

    def save(self, state: Read) -> None:
        _write(self._file, state)

    def serve(self, archive: Archive, project: str, *, is_first: bool, is_wanted: Wanted) -> list[str]:
        """The sessions of a project that the assistant is to read, the newest first.

        The first page begins a reading of what waits then; on later pages it stays the same.
        """
        served = read_json(self._served, Served, Served())
        if is_first or not served.now or served.project != project:
            waiting = [record for record in unread(archive.records(), Read(served.past)) if is_wanted(record)]
            fresh = {record.session_id: make_mark(record) for record in reversed(waiting)}
            served = replace(served, now=fresh, project=project)
            _write(self._served, served)
        return list(served.now)

    def list_unserved(self, archive: Archive) -> list[SessionRecord]:
        """The sessions that no assistant was shown, oldest first."""
        return unread(archive.records(), Read(read_json(self._served, Served, Served()).past))

    def note_shown(self, session_ids: Collection[str]) -> None:
        """Notes sessions of the reading under way as read: a page behind them was asked for."""
        served = read_json(self._served, Served, Served())
        shown = {name: mark for name, mark in served.now.items() if name in session_ids}
        if not shown.keys() <= served.past.keys():
            _write(self._served, replace(served, past={**served.past, **shown}))

    def forget(self, session_ids: Collection[str]) -> None:
        """Removes everything that was noted of these sessions."""

        def keep_others(noted: Mapping[str, Known]) -> dict[str, Known]:
            return {name: known for name, known in noted.items() if name not in session_ids}

        state, served = self.read(), read_json(self._served, Served, Served())
        self.save(replace(state, sessions=keep_others(state.sessions)))
        _write(self._served, replace(served, past=keep_others(served.past), now=keep_others(served.now)))

    @property
    def is_pending(self) -> bool:
        """Whether the flag is up."""
        return self._flag.exists()

    def refresh_flag(self, archive: Archive, now: dt.datetime) -> bool:
        """Raises or lowers the flag: up when a day has passed since the last run and a session is unread."""
        state = self.read()
        if self._is_due(state, now) and unread(archive.records(), state):
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


def unread(
    records: Iterable[SessionRecord], state: Read, find_reader: Callable[[SessionRecord], str] = lambda _: ""
) -> list[SessionRecord]:
    """Those of some archived sessions with something in them that was not looked at, oldest first.

    `find_reader`: who has read each; a session that was read anew by another is looked at again.
    """
    found = (
        record for record in records if state.sessions.get(record.session_id) != make_mark(record, find_reader(record))
    )
    return sorted(found, key=lambda record: (record.ended, record.session_id))


def make_mark(record: SessionRecord, reader: str = "") -> str:
    """What changes when a session grows or is read by another reader, and not when its archive is packed anew."""
    mark = f"{record.ended}/{sum(len(segment.entries) for segment in record.segments)}"
    return f"{mark}/{reader}" if reader not in ("", RULES) else mark
