"""Which backups of a memory were made, and when."""

import datetime as dt
from pathlib import Path

import msgspec

from memory_server.machine.clock import local_day
from memory_server.machine.files import read_records
from memory_server.root.paths import MemoryRoot


class BackupNote(msgspec.Struct, frozen=True):
    """A line of `backups.jsonl`."""

    at: dt.datetime
    kind: str
    file: str
    fingerprint: str


def read_notes(file: Path) -> list[BackupNote]:
    """The backups that were made, the oldest first."""
    return list(read_records(file, BackupNote))


def backup_days(root: MemoryRoot, today: dt.date) -> int | None:
    """How old the last backup is; None where none was made."""
    notes = read_notes(root.backups)
    return (today - local_day(notes[-1].at)).days if notes else None
