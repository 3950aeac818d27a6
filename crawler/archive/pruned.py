"""Which sessions were moved out of the archive, and into which file.

pruned.jsonl    beside the archive's records: which sessions lie in which file since when, and its fingerprint
"""

import datetime as dt

import msgspec

from crawler.archive.store import Archive
from memory_server.machine.files import read_records


class PruneNote(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of `pruned.jsonl`."""

    at: dt.datetime
    file: str
    fingerprint: str
    sessions: tuple[str, ...] = ()
    back: bool = False  # they were brought back


class PrunedSessions:
    """What was moved out of one archive."""

    def __init__(self, archive: Archive):
        self.archive = archive
        self.file = archive.folder / "pruned.jsonl"

    def notes(self) -> list[PruneNote]:
        """What was moved out and back, the oldest first."""
        return list(read_records(self.file, PruneNote))

    def where(self, session_id: str) -> PruneNote | None:
        """Where a session lies that was moved out; None where it was not, or came back."""
        about = [note for note in self.notes() if session_id in note.sessions]
        return about[-1] if about and not about[-1].back and not self.archive.holds(session_id) else None

    def session_ids(self) -> set[str]:
        """The sessions that lie in files."""
        return {one for note in self.notes() for one in note.sessions if self.where(one)}
