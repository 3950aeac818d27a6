"""Which files a proposal may change: `lessons.md`, and plain names below `topics/`, never by way of a link.

A decision also writes the index page, and a person may adopt a topic whose name a proposal could not have chosen.
"""

import re
from pathlib import Path

from memory_server.errors import ContentError
from memory_server.escaping import shown_line
from memory_server.layers.topics import read_text
from memory_server.machine.files import is_plain_file
from memory_server.root.paths import MemoryRoot

PLAIN = re.compile(r"topics/(?:[^\W_][\w .-]{0,79}/){0,3}[^\W_][\w .-]{0,79}\.md")
APPROVED = re.compile(r"MEMORY\.md|lessons\.md|topics/(?:[^/.\0][^/\0]*/)*[^/.\0][^/\0]*\.md")  # as sources are found
MAX_TARGET_CHARS = 200


def checked_path(root: MemoryRoot, path: str) -> Path:
    """The file of layer 1 that a path read from a file names, opened by nobody yet.

    Raises ContentError for a path that leads elsewhere, also by way of a link, and for what is no ordinary file.
    """
    if not APPROVED.fullmatch(path):
        raise ContentError(
            f"{shown_line(path)[:100]!r} is no file of layer 1", remedy="Name MEMORY.md, lessons.md or a topic"
        )
    file = root.path / path
    try:
        for place in (file, *(folder for folder in file.parents if folder.is_relative_to(root.topics))):
            if place.is_symlink():
                raise ContentError("a symlink is not followed", where=path, remedy="Put the file itself in its place")
        if file.exists() and not is_plain_file(file):
            raise ContentError("it is no ordinary file", where=path, remedy="Move it away")
    except OSError as error:  # a name that is longer than the file system takes
        raise ContentError(f"it cannot be looked at ({error.strerror})", where=path[:100]) from error
    return file


def checked_target(root: MemoryRoot, target: str) -> Path:
    """The file of a target. Raises ContentError for any but a plain one, for links, and for a name's double."""
    if target != "lessons.md" and (not PLAIN.fullmatch(target) or len(target) > MAX_TARGET_CHARS):
        raise ContentError(
            f"{shown_line(target)[:100]!r} is no target", remedy="Name lessons.md or topics/<plain name>.md"
        )
    file = checked_path(root, target)
    if file.parent.is_dir():
        doubles = [other.name for other in file.parent.iterdir() if other.name.casefold() == file.name.casefold()]
        if doubles and file.name not in doubles:
            raise ContentError(f"{doubles[0]} differs from it in case alone", where=target, remedy="Use that name")
    return file


def target_text(root: MemoryRoot, target: str) -> str | None:
    """The text of a target; None where there is no such file. Raises ContentError as `checked_target` does."""
    file = checked_target(root, target)
    return read_text(file) if file.exists() else None
