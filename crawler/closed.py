"""Decides when a session is over and may be compressed.

Three signs, the surest first: the client said so (SessionEnd), the client's marker of running sessions names it with a
process that lives or does not, or nothing was written for some hours. The marker goes stale after `/clear` and
`--continue`, so a session that it does not name is judged by its idle time.
"""

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from crawler.transcripts.entry import MOST_AHEAD
from memory_server.machine.files import append_line, read_json, read_records, replace_file

IDLE_HOURS = 6.0
START_SLACK = timedelta(seconds=90)  # between a process starting and its marker being written
END_SLACK = timedelta(seconds=30)  # between SessionEnd and what the client writes last
ProcessStart = Callable[[int], datetime | None]


class LiveMarker(msgspec.Struct, frozen=True):
    """What the client notes of a running process in `~/.claude/sessions/<pid>.json`."""

    pid: int
    session_id: str = msgspec.field(name="sessionId")
    started_ms: float | None = msgspec.field(default=None, name="startedAt")


def read_markers(folder: Path) -> Iterator[LiveMarker]:
    """The markers of a client; files of another shape are passed over."""
    return filter(None, (read_json(path, LiveMarker, None) for path in sorted(folder.glob("*.json"))))


class _End(msgspec.Struct):
    session_id: str
    at: datetime


def note_end(file: Path, session_id: str, at: datetime) -> None:
    """Notes that the client said a session is over."""
    append_line(file, msgspec.json.encode(_End(session_id, at)))


def forget_ends(file: Path, session_ids: Collection[str]) -> None:
    """Removes what was noted of these sessions."""
    others = {name: at for name, at in read_ends(file).items() if name not in session_ids}
    if file.exists():
        replace_file(file, b"".join(msgspec.json.encode(_End(name, at)) + b"\n" for name, at in others.items()))


def read_ends(file: Path) -> dict[str, datetime]:
    """When each session's end was last seen; lines of another shape, which a kill can leave, are passed over."""
    return {end.session_id: end.at for end in read_records(file, _End) if end.at.tzinfo is not None}


def is_running(marker: LiveMarker, process_start: ProcessStart) -> bool:
    """Whether the marker's own process lives: a pid may belong to another process by now, which started later."""
    began = process_start(marker.pid)
    if began is None:
        return False
    return not marker.started_ms or began <= datetime.fromtimestamp(marker.started_ms / 1000, UTC) + START_SLACK


def process_start(pid: int) -> datetime | None:
    """When a process started; None where it does not live. Where the system does not tell, it counts as old."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass  # it lives, and belongs to somebody else
    try:
        ticks = int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[19])
        booted = next(
            int(line.split()[1])
            for line in Path("/proc/stat").read_text(encoding="utf-8").splitlines()
            if line.startswith("btime")
        )
    except (OSError, IndexError, ValueError, StopIteration):
        return datetime.fromtimestamp(0, UTC)
    return datetime.fromtimestamp(booted + ticks / os.sysconf("SC_CLK_TCK"), UTC)


@dataclass(frozen=True, slots=True)
class ClosedWhen:
    """What is known about which sessions are over. All times are aware."""

    now: datetime
    ended: Mapping[str, datetime] = field(default_factory=dict)  # when the SessionEnd of each was seen
    markers: Collection[LiveMarker] = ()
    idle_hours: float = IDLE_HOURS
    process_start: ProcessStart = process_start

    def applies(self, session_id: str, last_written: datetime) -> bool:
        """Whether a session is over."""
        own = [marker for marker in self.markers if marker.session_id == session_id]
        if any(is_running(marker, self.process_start) for marker in own):
            return False
        ended = self.ended.get(session_id)
        was_ended = ended is not None and last_written <= ended + END_SLACK  # else it was resumed
        is_of_wrong_clock = last_written - self.now > MOST_AHEAD
        is_idle = self.now - last_written >= timedelta(hours=self.idle_hours)
        return was_ended or bool(own) or is_of_wrong_clock or is_idle
