"""Text as it may be shown: what could forge a screen or hide from a reader is written out."""

import re

HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


def shown(text: str) -> str:
    """The text with control characters, ANSI, bidirectional and zero-width marks as `\\u202e` and the like.

    Line breaks and tabs stay; a zero-width joiner inside an emoji is written out too.
    """
    return HIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text.replace("\r\n", "\n"))
