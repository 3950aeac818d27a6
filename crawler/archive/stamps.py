"""Records that a wrong clock stamped. They are kept without a time: none dates a session, or keeps it open for ever."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from crawler.transcripts.entry import Entry
from crawler.transcripts.turns import time_of
from memory_server.escaping import plural, shown_line

EARLIEST = datetime(2002, 1, 1, tzinfo=UTC)  # clocks that nobody set begin in 1970, 1980, 2000 or 2001


class Stamps:
    """The times of the records of one file."""

    def __init__(self, latest: datetime | None):
        """`latest`: what is stamped later is wrong; None where nobody knows the time."""
        self._latest = latest
        self._wrong: list[str] = []

    def checked(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        """The entries, those with a wrong time without it."""
        for entry in entries:
            if self._is_wrong(time_of(entry)):
                self._wrong.append(entry.time)
                entry = msgspec.structs.replace(entry, time="")
            yield entry

    def remarks(self, path: Path) -> Iterator[str]:
        """What to say of the file: one sentence, where a time was wrong."""
        if self._wrong:
            told = f"{plural(len(self._wrong), 'record')} stamped by a wrong clock, {shown_line(self._wrong[0])}"
            yield f"{shown_line(str(path))}: {told}. Nothing to mend: the other records date the session."

    def _is_wrong(self, moment: datetime | None) -> bool:
        return moment is not None and (moment < EARLIEST or (self._latest is not None and moment > self._latest))
