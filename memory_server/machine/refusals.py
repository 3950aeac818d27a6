"""Says what to do where the system, a disk or SQLite refuses to read or write a file."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memory_server.errors import NeedsRepair
from memory_server.machine.files import is_failing, is_out_of_room, is_refused

NO_ROOM_REMEDY = "Free some space on that disk; nothing is lost, and a running daemon goes on by itself"
DISK_REMEDY = "Look at that disk, which may be full, read-only or failing; then run the command again, nothing is lost"
MOVE_REMEDY = "Move it away, or give it another name"
RIGHTS_REMEDY = "Check its rights and those of the folders above it"


@contextmanager
def repairable(derived: Path) -> Iterator[None]:
    """Turns what SQLite and the disk say about the files in `derived` into NeedsRepair with its remedy."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise  # our own mistake
    except (sqlite3.DatabaseError, OSError, NeedsRepair) as error:
        if refusal := find_refusal(error, derived, "the indices"):
            raise refusal from error
        if not isinstance(error, sqlite3.DatabaseError):
            raise
        raise NeedsRepair(
            f"the indices cannot be read ({error})",
            where=derived,
            remedy="Run `oneiros reindex --rebuild`; it loses no knowledge",
        ) from error


def find_refusal(error: BaseException, place: Path | None, what: str = "it") -> NeedsRepair | None:
    """What a person is told where a disk has no room or the system refuses a file; None for any other error.

    `place`: where it happened, if the error does not know; `what` lies there.
    """
    if is_out_of_room(error):
        return NeedsRepair(f"there is no room to write {what}", where=place, remedy=NO_ROOM_REMEDY)
    if is_failing(error):
        return NeedsRepair(f"the disk failed where {what} is read or written", where=place, remedy=DISK_REMEDY)
    if isinstance(error, NeedsRepair) or not is_refused(error):
        return None
    if isinstance(error, OSError) and error.filename:
        place = Path(os.fsdecode(error.filename))
        place = next(filter(os.path.lexists, (place, *place.parents)))  # of a file that was to be made, its folder
    if isinstance(error, NotADirectoryError):
        return NeedsRepair("a file lies where a folder has to be", where=place, remedy=MOVE_REMEDY)
    why = error.strerror if isinstance(error, OSError) else error
    return NeedsRepair(f"{what} cannot be used ({why})", where=place, remedy=RIGHTS_REMEDY)
