"""Writing files so that a reader sees the old or the new text, never half of it; and what keeps them from it."""

import errno
import os
import sqlite3
import threading
from pathlib import Path


def file_identity(file: Path) -> tuple[int, int] | None:
    """What tells a file from another one that took its name; None where there is none."""
    try:
        stat = file.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


def is_out_of_room(error: BaseException) -> bool:
    """Whether an error, or what it was raised from, says that a disk or a quota is full or a file too large."""
    if isinstance(error, sqlite3.Error):
        return getattr(error, "sqlite_errorcode", 0) in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return True
    if any(words in str(error) for words in ("disk is full", "os error 27", "os error 28")):  # as ChromaDB passes it on
        return True
    return error.__cause__ is not None and is_out_of_room(error.__cause__)


def replace_file(file: Path, text: str) -> None:
    """Writes a text file in one step: under a temporary name first, then moved over the old one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.name}.{os.getpid()}-{threading.get_ident()}.tmp")
    temporary.write_text(text, encoding="utf-8", newline="")
    temporary.replace(file)
