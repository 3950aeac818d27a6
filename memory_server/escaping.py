"""Text as it may be shown: what could forge a screen or hide from a reader is written out; counts with their noun; cut
to a length where a reader looks, or at a word. Nothing here is heavy: the command line imports it.
"""

import re
from collections.abc import Collection, Sequence

HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)  # the last stretch spells out text that no screen shows; U+FE0F stays, since it only colours an emoji
NOTED = "noted: "  # before a line that a model read in a passage


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


def _escape_character(character: str) -> str:
    number = ord(character)
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"


def shorten_passage(passage: str, terms: Sequence[str], chars: int) -> str:
    """A passage cut to `chars` characters around the place where most of the terms stand closest together."""
    if len(passage) <= chars:
        return passage
    best = find_densest(passage.casefold(), [term.casefold() for term in terms], chars - chars // 4)
    margin = chars // 4  # within which a blank is looked for: Chinese and paths have none
    wanted = best - margin
    start = 0 if best < chars // 2 else max(passage.rfind(" ", 0, wanted) + 1, wanted - margin)
    line = passage.rfind("\n", 0, start) + 1
    mark = NOTED if start > line and passage.startswith(NOTED, line) else ""  # else it would pass for what was said
    cut = passage[start : start + chars - len(mark)]
    if start + len(cut) < len(passage):
        cut = cut[: max(cut.rfind(" ", len(cut) - margin), 0) or chars]
    return f"{mark}{'… ' if start else ''}{cut.strip()}{' …' if start + len(cut) < len(passage) else ''}"


def find_densest(text: str, terms: Collection[str], chars: int) -> int:
    """Where the `chars` characters begin in which most of the terms stand, the closest together; 0 where none does."""
    found = sorted((at.start(), term) for term in set(terms) - {""} for at in re.finditer(re.escape(term), text))
    best, densest = 0, (0, 0)
    for number, (start, _) in enumerate(found):
        seen: set[str] = set()
        for place in range(number, len(found)):
            at, term = found[place]
            if at >= start + chars:
                break
            if term not in seen:
                seen.add(term)
                if (len(seen), start - at) > densest:
                    best, densest = start, (len(seen), start - at)
    return best


def clip(text: str, max_chars: int) -> str:
    """The text, cut at a word where it is longer."""
    if len(text) <= max_chars:
        return text
    return text[: max_chars - 1].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"
