"""What must be true of a memory root before anything below it is written or removed.

A clone may bring links in place of our folders, and files where an index is expected. Folders that lead out of the root
are not entered, and derived files that git tracks are nobody's indices. All of it is looked at before a process opens
a root, and again before each piece of work of one that keeps it open.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from memory_server.errors import NeedsRepair
from memory_server.root.paths import MemoryRoot
from memory_server.root.state import list_tracked_paths, make_state

WRITTEN = (".oneiros", "sessions", "episodes", "proposals", "reports", ".blackboard")
PAGES = ("MEMORY.md", "lessons.md", "ontology.yaml", "oneiros.toml", ".gitignore")


def require_memory(root: MemoryRoot) -> MemoryRoot:
    """The root itself, with its state made.

    Raises NeedsRepair where no memory has been made there, or where something in it leads out of it.
    """
    if not root.index_page.is_file():
        raise NeedsRepair("there is no memory here", where=root.path, remedy="Make one with `oneiros init`")
    require_own_folders(root)
    if tracked := sorted(list_tracked_paths(root.path, (".oneiros",))):
        raise NeedsRepair(
            f"git tracks {tracked[0]}: indices that come with a repository are not yours",
            where=root.path,
            remedy="Run `git rm -r --cached .oneiros` there, remove the folder, then `oneiros reindex`",
        )
    make_state(root)
    return root


def require_own_folders(root: MemoryRoot) -> None:
    """Raises NeedsRepair where a link, a pipe or a device stands in the place of what is written."""
    for name in PAGES:
        if (root.path / name).exists() and not (root.path / name).is_file():
            raise _odd(root.path / name, "it is no ordinary file")
    for name in WRITTEN:
        folder = root.path / name
        if folder.is_symlink():
            raise _odd(folder, "a link is not followed, since it could lead out of the memory")
        if folder.exists() and not folder.is_dir():
            raise _odd(folder, "it is no folder")
        for entry in _odd_entries(folder, is_derived=name == ".oneiros"):
            raise _odd(Path(entry.path), "a link, pipe or device is not opened, since it could lead out of the memory")


def _odd_entries(folder: Path, *, is_derived: bool) -> Iterator["os.DirEntry[str]"]:
    """What is neither a folder nor an ordinary file; links to files are nobody's folder and only matter in indices."""
    waiting = [str(folder)]
    while waiting:
        try:
            entries = os.scandir(waiting.pop())
        except (FileNotFoundError, NotADirectoryError):
            continue
        with entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif _is_odd(entry, is_derived=is_derived):
                    yield entry


def _is_odd(entry: "os.DirEntry[str]", *, is_derived: bool) -> bool:
    """Of what is no folder; a hard link among derived files is another name of a file that lies elsewhere."""
    if entry.is_symlink():
        return is_derived or not entry.is_file()
    if not is_derived:
        return not entry.is_file()
    try:
        found = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return False  # another process has just removed it
    return not stat.S_ISREG(found.st_mode) or found.st_nlink > 1


def _odd(place: Path, what: str) -> NeedsRepair:
    return NeedsRepair(what, where=place, remedy="Put the folder or file itself in its place, or remove it")
