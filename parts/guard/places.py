"""The places that are the person's: what they approved, what their memory keeps, their settings, key and state.

Knows paths alone: with links resolved, in capitals or not, as patterns of the shell, and as names in a text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from oneiros.light.endpoint import settings_folder, states_folder
from oneiros.light.person_only import APPROVED, OWN_DATA

OURS = re.compile(r"\.oneiros\b|\bONEIROS_ROOT\b|\boneiros/config\.toml")
PATTERN = re.compile(r"[*?\[]")
BEGINNING = re.compile(r"[~/\w.-]")
BETWEEN = re.compile(r"[=:,;@|<>&()'\"\[\]{}\s]+")
PREFIX = re.compile(r"^(?:-+\w|[ab]/)")  # of an option, of a file in a diff
TILDE = re.compile(r"^~[^/]*")

WRITE_DENIED = (
    "{path} is approved memory (rank 1): a person's acceptance alone changes it. Make a proposal with "
    "propose_promotion (or /oneiros:remember); the person accepts it with `oneiros review` in a terminal of their own."
)
OWN_DENIED = (
    "{path} is or holds what is the person's own (their memory, settings, key or state): tell them what you would "
    "change, or to do it in a terminal of their own."
)


class Denied(Exception):
    """The command may not be run; the text says why."""


class Guarded:
    """The places that are the person's, with links resolved."""

    def __init__(self, roots: Sequence[str], variables: Mapping[str, str]) -> None:
        self.home = variables.get("HOME") or os.path.expanduser("~")
        memories = [_resolve_path(root) for root in roots]
        own = [_resolve_path(one) for one in (states_folder(variables), settings_folder(variables, self.home))]
        self._approved = [f"{root}/{name.casefold()}" for root in memories for name in APPROVED]
        self._files = [*self._approved, *own, *(f"{root}/{name}" for root in memories for name in OWN_DATA)]
        above = [root.removesuffix("/memory") for root in memories if root.endswith("/.oneiros/memory")]
        self._folders = [*memories, *above, *own]
        self._names = {os.path.basename(one) for one in (*self._folders, *self._files)}

    def check_file(self, path: str, folder: str) -> None:
        """Raises Denied where an editor would write a file that is the person's."""
        self._deny(at for at in self._meant(path, folder) if any(_is_inside(at, one) for one in self._files))

    def check_word(self, word: str, folder: str) -> None:
        """Raises Denied where a word of a command, or a part of it, names a memory or what is the person's own."""
        self._deny(self._find_named(word, folder))

    def check_pattern(self, path: str, folder: str) -> None:
        """Raises Denied where a pattern of the shell matches what is the person's."""
        if PATTERN.search(path):
            self.check_word(path, folder)

    def check_whole(self, path: str, folder: str) -> None:
        """Raises Denied where a path holds a memory or what is the person's own."""
        places = (*self._folders, *self._files)
        self._deny(at for at in self._meant(path, folder) if any(_is_inside(place, at) for place in places))

    def is_named(self, text: str, folder: str) -> bool:
        """Whether a text that runs in this folder names anything of the person's."""
        return any(self._find_named(text, folder)) or any(self._find_named("./", folder))

    def at_home(self, path: str) -> str:
        return TILDE.sub(lambda found: "." if found[0] in ("~+", "~-") else self.home, path)

    def _find_named(self, text: str, folder: str) -> Iterator[str]:
        """What a text names of the person's; a bare name that is a memory's too, as in `npm run memory`, is no path."""
        names = self._names
        parts = {one for one in BETWEEN.split(text) if _is_placed(one) or any(name in one.casefold() for name in names)}
        for piece in (text, *parts, *(PREFIX.sub("", one) for one in parts)):
            for at in self._meant(piece, folder):
                if any(_is_inside(at, place) and (at != place or "/" in piece) for place in self._folders):
                    yield at
        yield from OURS.findall(text)

    def _meant(self, path: str, folder: str) -> Iterator[str]:
        """The path without links: what lies there, and the link itself; a pattern as the guarded paths it matches."""
        whole = os.path.normpath(os.path.join(folder, self.at_home(path.replace("\0", ""))))
        if pattern := PATTERN.search(whole):
            yield from self._match_pattern(whole, pattern.start())
        else:
            yield _resolve_path(whole)
            yield os.path.join(_resolve_path(os.path.dirname(whole)), os.path.basename(whole).casefold())

    def _match_pattern(self, pattern: str, first: int) -> Iterator[str]:
        """The guarded paths, or what holds them, that a pattern names. No disk is asked, so it takes no time."""
        start = pattern[:first].rpartition("/")[0]
        rest = pattern[len(start) :].casefold()
        parts = (_resolve_path(start or "/").rstrip("/") + rest).split("/")
        for place in (*self._files, *self._folders):
            names = place.split("/")
            pairs = list(zip(names, parts, strict=False))
            if all(fnmatchcase(name, part) and (name[:1] != "." or part[:1] == ".") for name, part in pairs):
                yield "/".join(names[: len(parts)] + parts[len(names) :])

    def _deny(self, found: Iterator[str]) -> None:
        for at in found:
            is_approved = any(_is_inside(at, place) for place in self._approved)
            raise Denied((WRITE_DENIED if is_approved else OWN_DENIED).format(path=at))


def _is_placed(word: str) -> bool:
    """Whether a word is a pattern that begins with a name: `*/x` is often an option's."""
    found = PATTERN.search(word)
    return bool(found and BEGINNING.match(word) and any(map(str.isalnum, word[: found.start()])))


def _resolve_path(path: str) -> str:
    """Without links, and as a disk reads it that takes capitals for small letters."""
    return os.path.realpath(path).casefold()


def _is_inside(path: str, place: str) -> bool:
    return path == place or path.startswith(place.rstrip("/") + "/")
