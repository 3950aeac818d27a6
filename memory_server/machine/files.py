"""Writing files so that a reader sees the old or the new text, never half of it; and what keeps them from it."""

import errno
import os
import shutil
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TypeVar

import msgspec

from memory_server.errors import NeedsRepair

UNREADABLE_JSON = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)  # what msgspec raises where it is broken
Record = TypeVar("Record")
Default = TypeVar("Default")

NO_ROOM_REMEDY = "Free some space on that disk; nothing is lost, and a running daemon goes on by itself"
DISK_REMEDY = "Look at that disk, which may be full, read-only or failing; then run the command again, nothing is lost"
MOVE_REMEDY = "Move it away, or give it another name"
RIGHTS_REMEDY = "Check its rights and those of the folders above it"
SYSTEM_REFUSALS = {getattr(errno, name) for name in ("EACCES", "EPERM", "EROFS", "ENOTDIR", "ELOOP", "ENAMETOOLONG")}
SQLITE_REFUSALS = {sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}


def file_identity(file: Path) -> tuple[int, int] | None:
    """What tells a file from another one that took its name; None where there is none."""
    try:
        stat = file.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


def file_stamp(place: Path) -> tuple[int, int]:
    """What changes with a file, or with the names in a folder: its time and size; zeros where there is nothing."""
    try:
        found = place.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def change_stamp(place: Path) -> tuple[int, int]:
    """The same with the time of its last change of any kind, which no program sets."""
    try:
        found = place.stat()
    except OSError:
        return 0, 0
    return found.st_ctime_ns, found.st_size


def read_json(file: Path, kind: type[Record], default: Default) -> Record | Default:
    """What a file of JSON holds; the default where it is missing or damaged, or of another kind."""
    with suppress(OSError, *UNREADABLE_JSON):
        return msgspec.json.decode(file.read_bytes(), type=kind)
    return default


def read_records(file: Path, kind: type[Record]) -> Iterator[Record]:
    """The lines of a file of JSON, of this kind each; one that a kill tore is passed over."""
    try:
        lines = file.read_bytes().splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        with suppress(*UNREADABLE_JSON, ValueError):
            yield msgspec.json.decode(line, type=kind)


def is_out_of_room(error: BaseException) -> bool:
    """Whether an error, or what it was raised from, says that a disk or a quota is full or a file too large."""
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", 0) in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return True
    if any(words in str(error) for words in ("disk is full", "os error 27", "os error 28")):  # as ChromaDB passes it on
        return True
    return error.__cause__ is not None and is_out_of_room(error.__cause__)


def is_failing(error: BaseException) -> bool:
    """Whether an error, or what it was raised from, says that a disk could not do what it was asked for."""
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_IOERR
    if (isinstance(error, OSError) and error.errno == errno.EIO) or "disk I/O error" in str(error):  # of ChromaDB
        return True
    return error.__cause__ is not None and is_failing(error.__cause__)


def is_refused(error: BaseException) -> bool:
    """Whether an error, or what it was raised from, says that rights or what lies in its place keep a file from use."""
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", 0) & 0xFF in SQLITE_REFUSALS  # the low byte of a more precise code
    if isinstance(error, OSError):
        return error.errno in SYSTEM_REFUSALS
    return error.__cause__ is not None and is_refused(error.__cause__)


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


def replace_file(file: Path, content: str | bytes, *, follow: bool = False) -> None:
    """Writes a file in one step: under a temporary name first, then moved over the old one, whose rights it keeps.

    A new file is its owner's alone, and what is written outlives a loss of power. `follow`: a file of the person's
    own, which may be a link to where they keep it; otherwise a link in its place is replaced. Where it fails, the old
    file stands and the temporary one is gone.
    """
    file = Path(os.path.realpath(file)) if follow else file
    with open_replacement(file) as stream:
        stream.write(content.encode("utf-8") if isinstance(content, str) else content)


@contextmanager
def open_replacement(file: Path) -> Iterator[BinaryIO]:
    """What a file is to hold, to be written piece by piece; it takes its place at the end, under the same promises."""
    make_folder(file.parent)
    temporary = file.with_name(f".{file.name[:100]}.{os.urandom(4).hex()}.tmp")
    stream = open(temporary, "xb", opener=lambda path, flags: os.open(path, flags, 0o600))  # noqa: SIM115  closed below
    try:
        with stream:
            yield stream
            if is_plain_file(file):
                os.fchmod(stream.fileno(), stat.S_IMODE(file.lstat().st_mode))
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(file)
        sync_folder(file.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def copy_file(source: Path, to: Path) -> None:
    """Puts a copy of a file in the place of another, in one step and without reading it whole into memory."""
    with source.open("rb") as stream, open_replacement(to) as copy:
        shutil.copyfileobj(stream, copy)


def new_file(file: Path) -> BinaryIO:
    """A file of its owner's alone, open for writing. Raises FileExistsError where anything has its name already."""
    make_folder(file.parent)
    return os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), "wb")


def remove_file(file: Path) -> None:
    """Removes a file, if it is there; it does not come back after a loss of power."""
    if file.parent.is_dir():
        file.unlink(missing_ok=True)
        sync_folder(file.parent)


def remove_other_folders(parent: Path, *keep: str) -> None:
    """Deletes every index folder but those in use: those of older models and of lost or renewed indices."""
    if parent.is_dir():
        for folder in parent.iterdir():
            if folder.name not in keep:
                shutil.rmtree(folder, ignore_errors=True)


def move(path: Path, to: Path) -> None:
    """Gives a file or a folder another place on the same file system, for good."""
    make_folder(to.parent)
    path.rename(to)
    sync_folder(to.parent)


def sync_folder(folder: Path) -> None:
    """Has the names in a folder outlive a loss of power."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file(file: Path) -> None:
    """Has what a file holds outlive a loss of power."""
    with file.open("rb") as stream:
        os.fsync(stream.fileno())


def append_line(file: Path, line: bytes) -> None:
    """Adds a line, which outlives a loss of power. One before it that a kill left without an end stays by itself.

    Raises OSError, also where something else than an ordinary file lies there.
    """
    make_folder(file.parent)
    with os.fdopen(open_plain(file, os.O_RDWR | os.O_CREAT | os.O_APPEND), "r+b", buffering=0) as stream:
        size = os.fstat(stream.fileno()).st_size
        torn = b"\n" if size and os.pread(stream.fileno(), 1, size - 1) != b"\n" else b""
        stream.write(torn + line + b"\n")
        os.fsync(stream.fileno())
    if not size:  # the file may be new
        sync_folder(file.parent)


def open_plain(file: Path, flags: int) -> int:
    """The descriptor of an ordinary file with one name. Raises OSError for a link, a pipe, a device or a hard link."""
    descriptor = os.open(file, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
        os.close(descriptor)
        raise OSError(errno.ELOOP, "no ordinary file", str(file))
    return descriptor


def make_folder(folder: Path) -> None:
    """Makes a folder with those above it; what it makes is its owner's alone. Raises OSError where it cannot be."""
    if not folder.is_dir():
        make_folder(folder.parent)
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except FileExistsError as error:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder)) from error


def is_plain_file(file: Path | str) -> bool:
    """Whether it is there and neither a link, a folder, a device nor a pipe, on which a reader would wait for ever."""
    try:
        return stat.S_ISREG(os.lstat(file).st_mode)
    except OSError:
        return False
