"""What was sent of the files of another machine."""

from dataclasses import dataclass, field
from pathlib import Path


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
