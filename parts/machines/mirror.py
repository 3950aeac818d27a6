"""The private mirror: what was fetched of one machine, until it is in the archive.

Nothing that the other side says names a file here: the files are numbered. It is emptied when it is opened and when it
is closed; what a kill leaves is emptied by the next opening.
"""

import shutil
from pathlib import Path
from typing import BinaryIO

from memory_server.machine.files import new_file


class Mirror:
    """A folder of the person's state, theirs alone. A context manager."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._count = 0

    def __enter__(self) -> "Mirror":
        self.empty()
        return self

    def __exit__(self, *_: object) -> None:
        self.empty()

    def add(self, ending: str) -> tuple[Path, BinaryIO]:
        """A new file, open for writing."""
        self._count += 1
        file = self._folder / f"{self._count}{ending}"
        return file, new_file(file)

    def empty(self) -> None:
        if self._folder.is_symlink():
            self._folder.unlink()
        shutil.rmtree(self._folder, ignore_errors=True)
