"""Readings on disk, one file a session: data like the archive, since a model was paid for them.

    sessions/readings/<session id>.json

What is written was masked before; a reading whose file is damaged counts as not there, and is made again.
"""

from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec

from crawler.archive.store import SAFE_ID
from crawler.reading.record import Reading
from memory_server.machine.files import UNREADABLE_JSON, remove_file, replace_file

FOLDER = "readings"  # beside the archive


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
