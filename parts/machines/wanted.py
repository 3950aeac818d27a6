"""Which files of another machine are wanted."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from crawler.references import (
    LIST_FILES,
    MAX_BYTES,
    NOTEBOOK,
    NOTEBOOK_BYTES,
    SKIPPED_FOLDERS,
    KnownReference,
    ReferenceSettings,
    ReferenceSource,
)
from memory_server.machine.files import read_json
from memory_server.root.git import SAFE_GIT


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


def build_wanted_root(source: ReferenceSource, settings: ReferenceSettings, folder: Path, machine: str) -> WantedRoot:
    """What is asked for of a source on another machine, of which the copies in `folder` hold what was sent before."""
    rules = settings.rules(source.name)
    return WantedRoot(
        folders=source.roots,
        endings=tuple(ending.lower() for ending in source.endings),
        skip=tuple(sorted(SKIPPED_FOLDERS)),
        hidden=False,
        must_be_there=True,
        most={"": MAX_BYTES, NOTEBOOK: NOTEBOOK_BYTES},
        git=("git", "-C", "{folder}", *SAFE_GIT, *LIST_FILES),
        known={
            old.path.removeprefix(f"{machine}:"): Known(old.inode, old.size, old.changed_ns)
            for name, old in read_json(folder / "state.json", dict[str, KnownReference], {}).items()
            if old.source == source.name and old.content.endswith(rules) and (old.same_as or (folder / name).exists())
        },
    )
