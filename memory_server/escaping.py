"""Text as it may be shown: what could forge a screen or hide from a reader is written out; counts with their noun."""

import re

HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)  # the last stretch spells out text that no screen shows; U+FE0F stays, since it only colours an emoji


def escape_text(text: str) -> str:
    """The text with control characters, ANSI, bidirectional and zero-width marks as `\\u202e` and the like.

    Line breaks and tabs stay; a zero-width joiner inside an emoji is written out too.
    """
    return HIDDEN.sub(lambda match: _escape_character(match[0]), text.replace("\r\n", "\n"))


def escape_line(text: str) -> str:
    """The text as one line: breaks and tabs become blanks, the rest as in `escape_text`."""
    return escape_text(" ".join(text.split()))


def plural(count: int, noun: str) -> str:
    """`1 topic`, `2 topics`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def join_counts(*counts: tuple[int, str], between: str = ", ") -> str:
    """What is said of counts as a list, without those that are none."""
    return between.join(text for count, text in counts if count)


def _escape_character(character: str) -> str:
    number = ord(character)
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"
