"""The places that are the person's: what they approved, what their memory keeps, their settings, key and state.

Knows paths alone: with links resolved, in capitals or not, as patterns of the shell, and as names in a text.
"""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase

from oneiros.light.endpoint import settings_folder, states_folder
from oneiros.light.shell import AS_WRITTEN, PATTERN, as_written

TYPE_CHECKING = False  # as in typing, whose import alone costs a hook more than all it does
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

APPROVED = ("topics", "lessons.md", "MEMORY.md", "proposals")  # below a memory root; a person's yes alone changes them
KEPT = ("sessions", ".git")  # what they said, and what they decided
OURS = re.compile(r"\.oneiros\b|\bONEIROS_ROOT\b|\boneiros/config\.toml")
BETWEEN = re.compile(r"[=:,;@|<>&()'\"\[\]{}\s]+")
PREFIX = re.compile(r"^(?:-+\w|[ab]/)")  # of an option, of a file in a diff
HOME = re.compile(r"^~[^/]*")

WRITE_DENIED = (
    "{path} is approved memory (rank 1): a person's acceptance alone changes it. Make a proposal with "
    "propose_promotion (or /oneiros:remember); the person accepts it with `oneiros review` in a terminal of their own."
)
OWN_DENIED = (
    "{path} is the person's own (settings, key, state, or what their memory keeps): tell them what you would change."
)
WHOLE_DENIED = "{path} is or holds a memory of the person's. Tell them to do it in a terminal of their own."


class Denied(Exception):
    """The command may not be run; the text says why."""


class Guarded:
    """The places that are the person's, with links resolved."""

    def __init__(self, roots: Sequence[str], variables: Mapping[str, str]) -> None:
        self.home = variables.get("HOME") or os.path.expanduser("~")
        self._roots = [_resolved(root) for root in roots]
        self._approved = [os.path.join(root, name.casefold()) for root in self._roots for name in APPROVED]
        self._own = [_resolved(one) for one in (states_folder(variables), settings_folder(variables, self.home))]
        own_of_roots = [os.path.join(root, name) for root in self._roots for name in KEPT]
        self._roots += [root.removesuffix("/memory") for root in self._roots if root.endswith("/.oneiros/memory")]
        self._places = [*self._roots, *self._own]
        self._own += own_of_roots
        self._names = {os.path.basename(one) for one in (*self._places, *self._approved, *self._own)}

    def check_file(self, path: str, folder: str) -> None:
        """Raises Denied where an editor would write a file that is the person's."""
        for at in self._meant(path, folder):
            self._deny_inside(at)

    def check_word(self, word: str, folder: str) -> None:
        """Raises Denied where a word of a command, or a part of it, names a memory or what is the person's own."""
        for piece in self._pieces(word):
            for at in self._meant(piece, folder):
                if self._is_ours(at, piece):
                    self._deny_inside(at)
                    raise Denied(WHOLE_DENIED.format(path=at))
        if OURS.search(as_written(word)):
            raise Denied(WHOLE_DENIED.format(path=as_written(word)[:200]))

    def check_whole(self, path: str, folder: str) -> None:
        """Raises Denied where a folder holds a memory or what is the person's own."""
        for at in self._meant(path, folder):
            if any(_lies_in(place, at) for place in (*self._places, *self._approved)):
                raise Denied(WHOLE_DENIED.format(path=at))

    def is_named(self, text: str, folder: str) -> bool:
        """Whether a text that runs in this folder names anything of the person's."""
        pieces = ["./", *(piece for piece in self._pieces(text) if "/" in piece)]
        return bool(OURS.search(text)) or any(
            self._is_ours(at, piece) for piece in pieces for at in self._meant(piece, folder)
        )

    def may_begin(self, start: str, folder: str) -> bool:
        """Whether a path that begins like this, and goes on as nobody can tell, may lead to what is the person's."""
        begun = os.path.join(folder, HOME.sub(self.home, start)).casefold() if start else ""
        return any(place.startswith(begun) or _lies_in(begun, place) for place in self._places)

    def _pieces(self, word: str) -> Iterator[str]:
        yield word
        for piece in set(BETWEEN.split(word)):
            if any(name in piece.casefold() for name in self._names):
                yield piece
                yield PREFIX.sub("", piece)

    def _meant(self, path: str, folder: str) -> Iterator[str]:
        """The path without links: what lies there, and the link itself; a pattern as the guarded paths it matches."""
        whole = os.path.normpath(os.path.join(folder, HOME.sub(self.home, path.replace("\0", ""))))
        if PATTERN.search(whole):
            yield from self._matched(whole)
        else:
            yield _resolved(whole)
            yield os.path.join(_resolved(os.path.dirname(whole)), os.path.basename(whole).casefold())

    def _matched(self, pattern: str) -> Iterator[str]:
        """The guarded paths, or what holds them, that a pattern names. No disk is asked, so it takes no time."""
        start, _, rest = pattern[: PATTERN.search(pattern).start()].rpartition("/")  # type: ignore[union-attr]
        parts = (_resolved(start or "/").rstrip("/") + pattern[len(start) :].translate(AS_WRITTEN).casefold()).split("/")
        for place in (*self._approved, *self._own, *self._roots):
            names = place.split("/")
            if all(_fits(part, name) for part, name in zip(parts, names, strict=False)):
                yield "/".join(names[: len(parts)] + parts[len(names) :])

    def _is_ours(self, at: str, path: str) -> bool:
        """A bare name that happens to be that of a memory, as in `npm run memory`, is no path."""
        return any(_lies_in(at, place) and (at != place or "/" in path) for place in self._places)

    def _deny_inside(self, at: str) -> None:
        for places, reason in ((self._approved, WRITE_DENIED), (self._own, OWN_DENIED)):
            if any(_lies_in(at, place) for place in places):
                raise Denied(reason.format(path=at))


def _resolved(path: str) -> str:
    """Without links, and as a disk reads it that takes capitals for small letters."""
    return os.path.realpath(path).casefold()


def _lies_in(path: str, place: str) -> bool:
    return path == place or path.startswith(place.rstrip("/") + "/")


def _fits(part: str, name: str) -> bool:
    return fnmatchcase(name, part) and (name[:1] != "." or part[:1] == ".")
