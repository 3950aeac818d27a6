"""Says what to do where the indices cannot be read or written."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memory_server.errors import NeedsRepair
from memory_server.files import is_out_of_room

NO_ROOM_REMEDY = "Free some space on that disk; nothing is lost, and a running daemon goes on by itself"


@contextmanager
def repairable(derived: Path) -> Iterator[None]:
    """Turns what SQLite and the disk say about the files in `derived` into NeedsRepair with its remedy."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise  # our own mistake
    except (sqlite3.DatabaseError, OSError, NeedsRepair) as error:
        if is_out_of_room(error):
            raise NeedsRepair("there is no room to write the indices", where=derived, remedy=NO_ROOM_REMEDY) from error
        if not isinstance(error, sqlite3.DatabaseError):
            raise
        raise NeedsRepair(
            f"the indices cannot be read ({error})",
            where=derived,
            remedy="Run `oneiros reindex --rebuild`; it loses no knowledge",
        ) from error
