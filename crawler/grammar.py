"""What an id and a line of a transcript's metadata may be: both end up in file names, footnotes and commit messages.

A transcript is a file that anybody may have written. What does not fit is neither refused nor cut out: an id becomes a
hash of itself, so that parents and calls are still found by it, and a line has its breaks and hidden marks written out.
"""

import hashlib
import re

import msgspec

from crawler.entry import Entry
from memory_server.escaping import shown

ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
MADE_END = "-odd"  # of an id that stands for one outside the grammar
IDS = ("id", "parent", "message_id", "session_id", "agent")  # of an entry
LINES = ("time", "cwd", "branch", "version")
MAX_LINE_CHARS = 4_096  # as long as a path may be


def is_id(text: str) -> bool:
    """Whether a text may be the id of a session, an entry, an agent, a message or a call."""
    return ID.fullmatch(text) is not None


def as_id(text: str) -> str:
    """The id, or where it is none a hash of it; an empty text stays empty."""
    if not text or is_id(text):
        return text
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest() + MADE_END


def is_made_of_another(text: str) -> bool:
    """Whether an id is what `as_id` made of a text that was none."""
    return text.endswith(MADE_END)


def is_line(text: str) -> bool:
    """Whether a text is one short line that certainly hides nothing."""
    return text.isascii() and text.isprintable() and len(text) <= MAX_LINE_CHARS


def as_line(text: str) -> str:
    """The text as one line without control, bidi or zero-width marks: they are written out as `\\u000a`."""
    if is_line(text):
        return text
    return shown(text[:MAX_LINE_CHARS]).replace("\n", r"\u000a").replace("\t", r"\u0009")[:MAX_LINE_CHARS]


class Grammar:
    """Holds the entries of one transcript to it. What repeats from one to the next is looked at once."""

    def __init__(self) -> None:
        self._last_id = self._message_id = ""
        self._around: tuple[str, ...] = ()  # what the last entry that fitted says of where it was written

    def hold(self, entry: Entry) -> Entry:
        """The entry with every id and line in the grammar; the same object where they were."""
        parent, self._last_id = self._last_id, entry.id
        fits = is_id(entry.id) and (entry.parent in (parent, "") or is_id(entry.parent))
        if fits and (not entry.parts or self._fits_around(entry)):
            return entry
        ids = {name: as_id(getattr(entry, name)) for name in IDS}
        lines = {name: as_line(getattr(entry, name)) for name in LINES}
        self._last_id = ids["id"]
        return msgspec.structs.replace(entry, **ids, **lines)

    def _fits_around(self, entry: Entry) -> bool:
        around = (entry.session_id, entry.agent, entry.cwd, entry.branch, entry.version)
        if around != self._around:
            ids, lines = around[:2], around[2:]
            if not (all(is_id(one) or not one for one in ids) and all(map(is_line, lines))):
                return False
            self._around = around
        if entry.message_id not in (self._message_id, ""):
            if not is_id(entry.message_id):
                return False
            self._message_id = entry.message_id
        return is_line(entry.time)
