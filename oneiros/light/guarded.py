"""The places that are the person's: what they approved, what their memory keeps, their settings, key and state.

Knows paths alone: with links resolved, in capitals or not, as patterns of the shell, and as names in a text.
"""

from __future__ import annotations

import os
import re

from oneiros.light.endpoint import settings_folder, states_folder
from oneiros.light.programs import BETWEEN
from oneiros.light.shell import PATTERN, as_written

TYPE_CHECKING = False  # as in typing, whose import alone costs a hook more than all it does
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

APPROVED = ("topics", "lessons.md", "MEMORY.md", "proposals")  # below a memory root; a person's yes alone changes them
KEPT = ("sessions", ".git")  # what they said, and what they decided
MARKS = frozenset(map(chr, PATTERN.values()))
PATTERNS = {code: chr(key) for key, code in PATTERN.items()}
OURS = re.compile(r"\.oneiros\b|\bONEIROS_ROOT\b|(?<![\w/.-])oneiros(?![\w.-])|\boneiros/config\.toml")

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
        self.checks = 0  # so far
        self.home = variables.get("HOME") or os.path.expanduser("~")
        self._roots = [_folded(os.path.realpath(root)) for root in roots]
        self._approved = [os.path.join(root, _folded(name)) for root in self._roots for name in APPROVED]
        own = (states_folder(variables), settings_folder(variables, self.home))
        self._own = [_folded(os.path.realpath(folder)) for folder in own]
        self._own += [os.path.join(root, name) for root in self._roots for name in KEPT]
        self._names = {os.path.basename(place) for place in (*self._roots, *self._own, *self._approved)}
        self._roots += [root.removesuffix("/memory") for root in self._roots if root.endswith("/.oneiros/memory")]

    def check(self, kind: str, path: str, whole: str) -> None:
        """Raises Denied where a write of this kind touches what is guarded; the kinds are those of `programs.py`.

        `whole`: the path as it was said, from the folder that it counts from.
        """
        is_path = "/" in path
        if kind == "piece" and not self._has_name(path):
            return
        for one in self._meant(whole):
            at = _folded(one)
            if any(_lies_in(at, place) for place in self._approved):
                raise Denied(WRITE_DENIED.format(path=as_written(one)))
            if any(_lies_in(at, place) for place in self._own):
                raise Denied(OWN_DENIED.format(path=as_written(one)))
            is_whole = (
                (kind == "tree" and any(_lies_in(place, at) for place in (*self._roots, *self._own, *self._approved)))
                or (kind == "into" and any(_lies_in(at, root) for root in self._roots))
                or (kind in ("given", "piece") and is_path and at in self._roots)
            )
            if is_whole:
                raise Denied(WHOLE_DENIED.format(path=as_written(one)))

    def may_be_in(self, known: str) -> bool:
        """Whether a path that begins like this, and goes on as nobody can tell, may lead to what is guarded."""
        begun = _folded(os.path.normpath(known) + "/" * known.endswith("/")) if known else ""
        return any(place.startswith(begun) or _lies_in(begun, place) for place in (*self._approved, *self._own))

    def is_named(self, text: str, folder: str) -> bool:
        """Whether a text names a memory, its program, or the person's settings or state."""
        places = (*self._roots, *self._approved, *self._own)
        pieces = {one for one in BETWEEN.split(_folded(text)) if "/" in one and self._has_name(one)}
        return bool(OURS.search(text)) or any(
            _lies_in(_folded(one), place)
            for piece in (folder, *pieces)
            for one in self._meant(os.path.join(folder, self.at_home(piece)))
            for place in places
        )

    def _has_name(self, text: str) -> bool:
        return any(name in _folded(text) for name in self._names)

    def at_home(self, path: str) -> str:
        return self.home + path[1:] if path == "~" or path.startswith("~/") else path

    def _meant(self, whole: str) -> Iterator[str]:
        """The path without links: what lies there, and the link itself; a pattern as the guarded paths it matches."""
        whole = whole.replace("\0", "")  # no file has it in its name, and the system refuses to look
        if has_pattern(whole):
            yield from self._matched(os.path.normpath(whole))
            return
        resolved = os.path.realpath(whole)
        yield resolved
        parent = os.path.realpath(os.path.dirname(whole.rstrip("/")))
        if (link := os.path.join(parent, os.path.basename(whole.rstrip("/")))) != resolved:
            yield link

    def _matched(self, pattern: str) -> Iterator[str]:
        """The guarded paths, or what holds them, that a pattern names. No disk is asked, so it takes no time."""
        from fnmatch import fnmatchcase  # noqa: PLC0415  seldom needed

        parts = _resolved_start(pattern).split("/")
        for place in (*self._approved, *self._own, *self._roots):
            names = place.split("/")
            pairs = zip(parts, names, strict=False)
            if all(_matches(part, name, fnmatchcase) for part, name in pairs):
                yield "/".join(names[: len(parts)] + parts[len(names) :])


def _lies_in(path: str, place: str) -> bool:
    return path == place or path.startswith(place.rstrip("/") + "/")


def _folded(path: str) -> str:
    """As a disk reads it that takes capitals for small letters."""
    return path.casefold()


def has_pattern(path: str) -> bool:
    return not MARKS.isdisjoint(path)


def _resolved_start(pattern: str) -> str:
    """A pattern with the links before its first mark resolved."""
    parts = pattern.split("/")
    first = next(place for place, part in enumerate(parts) if has_pattern(part))
    return os.path.join(os.path.realpath("/".join(parts[:first]) or "/"), *parts[first:])


def _matches(part: str, name: str, fits: Callable[[str, str], bool]) -> bool:
    if not has_pattern(part):
        return _folded(as_written(part)) == name
    return fits(name, _folded(part.translate(PATTERNS))) and (name[:1] != "." or part[:1] == ".")
