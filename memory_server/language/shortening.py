"""Texts cut to a length: where a reader looks, or at a word. Nothing here is heavy: the command line imports it."""

import re
from collections.abc import Collection, Sequence

NOTED = "noted: "  # before a line that a model read in a passage
MARK = re.compile(rf"(?: \| )?(?:\[[^\]\n]*\] )?{NOTED}")  # behind the margin and the lines of an answer, too


def shorten_passage(passage: str, terms: Sequence[str], chars: int) -> str:
    """A passage cut to `chars` characters around the place where most of the terms stand closest together."""
    if len(passage) <= chars:
        return passage
    best = find_densest(passage.casefold(), [term.casefold() for term in terms], chars - chars // 4)
    margin = chars // 4  # within which a blank is looked for: Chinese and paths have none
    wanted = best - margin
    start = 0 if best < chars // 2 else max(passage.rfind(" ", 0, wanted) + 1, wanted - margin)
    line = passage.rfind("\n", 0, start) + 1
    found = MARK.match(passage, line)
    start = line if found and start < found.end() else start
    mark = found[0] if found and start > line else ""  # else it would pass for what was said
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
