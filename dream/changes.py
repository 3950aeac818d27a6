"""What a decision changes: the files of layer 1, by their hashes, and the way back.

Whoever asks whether a file stands as it was approved needs no more; the words of a decision are `proposals/store.py`'s.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from pathlib import Path

from memory_server.chunking import split_lines
from memory_server.errors import ContentError
from memory_server.escaping import escape_line
from memory_server.layers.topics import read_text
from memory_server.machine.files import is_plain_file
from memory_server.root.paths import MemoryRoot

MODIFIED = "modified:"  # of a frontmatter: every later change writes it anew
PLAIN = re.compile(r"topics/(?:[^\W_][\w .-]{0,79}/){0,3}[^\W_][\w .-]{0,79}\.md")
# of the approved files; topics as sources are found
APPROVED = re.compile(r"MEMORY\.md|lessons\.md|ontology\.yaml|topics/(?:[^/.\0][^/\0]*/)*[^/.\0][^/\0]*\.md")
MAX_TARGET_CHARS = 200


class Event(StrEnum):
    """What a person decided; the first five answer for a state of files."""

    FOUND = "found"  # it was there when approvals were first kept; nobody was asked
    ADOPTED = "adopted"  # a change made elsewhere, looked at and taken over
    ACCEPTED = "accepted"
    REVERTED = "reverted"
    ARRANGED = "arranged"  # topics renamed, joined or cut
    INSTALLED = "installed"  # a skill, outside of the memory
    REJECTED = "rejected"
    SIGNED = "signed"  # decisions made before
    BEGUN = "begun"  # a new chain behind one that was not as it was left
    REGISTERED = "registered"  # a passkey, which signs from then on
    WITHDRAWN = "withdrawn"  # a passkey, which does no longer


@dataclass(frozen=True, slots=True)
class Splice:
    """Lines of the new text, and the lines that they took the place of; line ends included."""

    first: int  # of the new text, counted from 0
    new: tuple[str, ...]
    old: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file of an approval."""

    path: str  # relative to the memory root
    before: str  # sha256 of its text; empty where there was no file
    after: str  # likewise; empty where it was removed
    approved: str  # what is compared later: of MEMORY.md without its generated lines, else the same as `after`
    splices: tuple[Splice, ...] = ()  # the way back


def hash_text(text: str | None) -> str:
    """What tells one state of a file from another; empty for a file that is not there."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() if text is not None else ""


# -- the way back: from the new text of a file to the old one, line by line and to the last byte ----------------------
# Where other lines of the file have changed since, each splice is looked for by the lines it put in, which must stand
# there untouched and once.


def find_splices(before: str, after: str) -> tuple[Splice, ...]:
    """The differences of two texts, in their order."""
    old, new = split_lines(before), split_lines(after)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return tuple(
        Splice(to_first, tuple(new[to_first:to_end]), tuple(old[from_first:from_end]))
        for tag, from_first, from_end, to_first, to_end in matcher.get_opcodes()
        if tag != "equal"
    )


def undone(after: str, splices: Sequence[Splice]) -> str:
    """The text before the change, exactly. `after` must be the text as the change left it."""
    lines = split_lines(after)
    for splice in reversed(splices):
        lines[splice.first : splice.first + len(splice.new)] = splice.old
    return "".join(lines)


def take_out(text: str, splices: Sequence[Splice]) -> str | None:
    """A text that has changed since, without these changes; None where one of them can no longer be found.

    A date of change is left as it is, since a later change wrote its own.
    """
    lines = split_lines(text)
    for splice in reversed(splices):
        if all(line.startswith(MODIFIED) for line in (*splice.new, *splice.old)):
            continue
        new = splice.new if splice.old else _without_blank_ends(splice.new)
        place = _only_place(new, lines)
        if place is None:
            return None
        lines[place : place + len(new)] = splice.old
    return "".join(lines)


def _without_blank_ends(lines: Sequence[str]) -> tuple[str, ...]:
    """The lines from the first to the last that says something: the gap around them may serve others by now."""
    numbers = [number for number, line in enumerate(lines) if line.strip()]
    return tuple(lines[numbers[0] : numbers[-1] + 1]) if numbers else ()


def _only_place(wanted: Sequence[str], lines: Sequence[str]) -> int | None:
    count = len(wanted)
    places = [at for at in range(len(lines) - count + 1) if count and list(lines[at : at + count]) == list(wanted)]
    return places[0] if len(places) == 1 else None


# -- which files may be changed: `lessons.md` and plain names below `topics/`, never by way of a link ------------------
# A decision also writes the index page, and a person may adopt a topic whose name a proposal could not have chosen.


def check_path(root: MemoryRoot, path: str) -> Path:
    """The file of layer 1 that a path read from a file names, opened by nobody yet.

    Raises ContentError for a path that leads elsewhere, also by way of a link, and for what is no ordinary file.
    """
    if not APPROVED.fullmatch(path):
        raise ContentError(
            f"{escape_line(path)[:100]!r} is no file of layer 1",
            remedy="Name a topic, MEMORY.md, lessons.md or ontology.yaml",
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


def check_target(root: MemoryRoot, target: str) -> Path:
    """The file of a target. Raises ContentError for any but a plain one, for links, and for a name's double."""
    if target != "lessons.md" and (not PLAIN.fullmatch(target) or len(target) > MAX_TARGET_CHARS):
        raise ContentError(
            f"{escape_line(target)[:100]!r} is no target", remedy="Name lessons.md or topics/<plain name>.md"
        )
    file = check_path(root, target)
    if file.parent.is_dir():
        doubles = [other.name for other in file.parent.iterdir() if other.name.casefold() == file.name.casefold()]
        if doubles and file.name not in doubles:
            raise ContentError(f"{doubles[0]} differs from it in case alone", where=target, remedy="Use that name")
    return file


def target_text(root: MemoryRoot, target: str) -> str | None:
    """The text of a target; None where there is no such file. Raises ContentError as `check_target` does."""
    file = check_target(root, target)
    return read_text(file) if file.exists() else None
