"""When two mistakes are the same one: what who looks for lessons and who checks them must agree on.

An error is known by its text with numbers, paths and ids masked, a correction by its telling words.
"""

import re

from crawler.compress.candidates import error_line
from memory_server.language.words import content_words

LOOK_AHEAD = 6  # turns behind a failure in which its cause is told
MIN_SESSIONS = 2  # in which a mistake is made before it is a lesson
SAME_WORDS = 0.6  # Jaccard of telling words, from which two corrections are the same
MASKS = (
    (re.compile(r"https?://\S+"), "<url>"),
    (re.compile(r"\"[^\"]*\"|'[^']*'|`[^`]*`|“[^”]*”"), "<name>"),
    (re.compile(r"(?:~|\.{1,2})?(?:/[\w.@+-]+)+/?|\b[A-Z]:\\\S+|\b[\w-]+(?:/[\w.-]+)+"), "<path>"),
    (re.compile(r"\b[0-9a-f]{7,}\b|\b0x[0-9a-fA-F]+\b|\b[0-9a-f]{8}-[0-9a-f-]{27}\b"), "<id>"),
    (re.compile(r"\d+(?:\.\d+)*"), "<n>"),
)


def error_template(output: str) -> str:
    """The line of a failed call's output that says what went wrong, all masked that differs from time to time."""
    line = error_line(output)
    for pattern, mask in MASKS:
        line = pattern.sub(mask, line)
    return " ".join(line.casefold().split())[:160]


def telling(text: str) -> str:
    """The telling words of a text, each once, sorted."""
    return " ".join(sorted(set(content_words(text))))


def is_same_correction(one: str, other: str) -> bool:
    """Whether two corrections, given by their telling words, say the same."""
    ours, theirs = set(one.split()), set(other.split())
    return bool(ours | theirs) and len(ours & theirs) / len(ours | theirs) >= SAME_WORDS
