"""Which files of another machine are wanted, and what of them was sent."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec


class Known(msgspec.Struct, frozen=True, array_like=True):
    """How far a file there was read, as it was then. `is_settled`: it was refused for good."""

    inode: int
    size: int
    changed_ns: int
    offset: int = 0
    prefix: str = ""  # hash of the bytes before the offset
    is_settled: bool = False


class WantedRoot(msgspec.Struct, frozen=True):
    """A folder there, and which of its files are wanted."""

    folders: tuple[str, ...]  # patterns, from `/` or `~/`
    endings: tuple[str, ...]
    skip: tuple[str, ...]  # names of folders passed over
    hidden: bool = True  # whether folders are read whose name begins with a dot
    counts: bool = False  # whether files are counted by the day of their last change
    must_be_there: bool = False
    most: Mapping[str, int] = {}  # bytes of a file, by ending, and of any other under ""; none: any
    git: tuple[str, ...] = ()  # the command that lists the files of a `{folder}`
    since: int = 0
    limit: int = -1  # files; below 0: all
    known: Mapping[str, Known] = {}


@dataclass(slots=True)
class SentFile:
    """A file that was sent, or the part of it that is new: what lies at `here` begins at the byte `base` of it."""

    here: Path
    root: int
    path: str
    folder: str
    base: int
    inode: int
    size: int
    changed_ns: int
    prefixes: dict[int, bytes] = field(default_factory=dict)  # hashes of so many first bytes: the last checkpoints
    is_whole: bool = False
