"""A place in the memory: a source and lines of it, as a hit shows it and as it is read again.

A session is named by the beginning of its id, and its lines are its turns: `5f0c2a9e:66`. Any other source is named by
its path. A source of the account's memory has `account:` in front. Nothing here is heavy: the command line imports it.
"""

import re
from dataclasses import dataclass

from memory_server.document import LineRange

SESSION = re.compile(r"(?P<account>account:)?sessions/archive/(?P<id>[0-9a-f]{8}(?=-)|.+)")
PLACE = re.compile(r"(?P<name>.+?)(?::(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class NamedLines:
    """A source by a name, and lines of it."""

    name: str
    first: int | None = None  # counted from 1
    last: int | None = None


def parse_place(text: str) -> NamedLines:
    """What a hit shows as its place: `mail`, `mail:12`, `5f0c2a9e:66-70`, a path with or without lines."""
    match = PLACE.fullmatch(text.strip())
    if match is None:
        return NamedLines("")
    first, last = (None if match[end] is None else max(1, int(match[end])) for end in ("first", "last"))
    return NamedLines(match["name"], first, last)


def show_place(path: str, lines: LineRange) -> str:
    """A place as it is shown and read again: a session by the beginning of its id, any other source by its path."""
    match = SESSION.match(path)
    return f"{match['account'] or ''}{match['id']}:{lines}" if match else f"{path}:{lines}"
