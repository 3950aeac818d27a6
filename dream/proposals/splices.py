"""How to get from the new text of a file back to the old one, line by line and to the last byte.

The splices of a change are small and name no file. Where other lines of the file have changed since, each is looked for
by the lines it put in, which must stand there untouched and once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from memory_server.chunking import split_lines

MODIFIED = "modified:"  # of a frontmatter: every later change writes it anew


@dataclass(frozen=True, slots=True)
class Splice:
    """Lines of the new text, and the lines that they took the place of; line ends included."""

    first: int  # of the new text, counted from 0
    new: tuple[str, ...]
    old: tuple[str, ...]

    @property
    def is_date_only(self) -> bool:
        return all(line.startswith(MODIFIED) for line in (*self.new, *self.old))


def splices_between(before: str, after: str) -> tuple[Splice, ...]:
    """The differences of two texts, in their order."""
    old, new = split_lines(before), split_lines(after)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return tuple(
        Splice(to_first, tuple(new[to_first:to_end]), tuple(old[from_first:from_end]))
        for tag, from_first, from_end, to_first, to_end in matcher.get_opcodes()
        if tag != "equal"
    )


def undone(after: str, splices: Sequence[Splice]) -> str:
    """The text before the change, exactly. `after` must be the text as the change left it."""
    lines = split_lines(after)
    for splice in reversed(splices):
        lines[splice.first : splice.first + len(splice.new)] = splice.old
    return "".join(lines)


def taken_out(text: str, splices: Sequence[Splice]) -> str | None:
    """A text that has changed since, without these changes; None where one of them can no longer be found.

    A date of change is left as it is, since a later change wrote its own.
    """
    lines = split_lines(text)
    for splice in reversed(splices):
        if splice.is_date_only:
            continue
        new = splice.new if splice.old else _without_blank_ends(splice.new)
        place = _only_place(new, lines)
        if place is None:
            return None
        lines[place : place + len(new)] = splice.old
    return "".join(lines)


def _without_blank_ends(lines: Sequence[str]) -> tuple[str, ...]:
    """The lines from the first to the last that says something: the gap around them may serve others by now."""
    told = [number for number, line in enumerate(lines) if line.strip()]
    return tuple(lines[told[0] : told[-1] + 1]) if told else ()


def _only_place(wanted: Sequence[str], lines: Sequence[str]) -> int | None:
    count = len(wanted)
    places = [at for at in range(len(lines) - count + 1) if count and list(lines[at : at + count]) == list(wanted)]
    return places[0] if len(places) == 1 else None
