"""What an id and a line of a transcript's metadata may be: both end up in file names, footnotes and commit messages.

A transcript is a file that anybody may have written. What does not fit is neither refused nor cut out: an id becomes a
hash of itself, so that parents and calls are still found by it, and a line has its breaks and hidden marks written out.
"""

import hashlib
import re

from memory_server.escaping import shown

ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
MADE_END = "-odd"  # of an id that stands for one outside the grammar
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


def as_line(text: str) -> str:
    """The text as one line without control, bidi or zero-width marks: they are written out as `\\u000a`."""
    if text.isascii() and text.isprintable() and len(text) <= MAX_LINE_CHARS:
        return text
    return shown(text[:MAX_LINE_CHARS]).replace("\n", r"\u000a").replace("\t", r"\u0009")[:MAX_LINE_CHARS]
