"""Changes of a text as rows: what goes, what comes, and which words of a line make the difference."""

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dream.proposals.rendering import diff_lines, make_diff
from parts.page.rendering import clip

MAX_LINE_CHARS = 4_000
MAX_ROWS = 400
OURS = ("diff --git", "new file mode", "@@")
Parts: TypeAlias = tuple[tuple[str, bool], ...]
TOKEN = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class DiffRow:
    """One line of a diff."""

    sign: str  # "+", "-" or a blank
    parts: Parts  # pieces of the line, and whether they differ from its other half


def changed_rows(before: str | None, after: str) -> list[DiffRow]:
    """What goes and comes in a topic, and nothing around it, as a reader of it sees it."""
    lines = diff_lines(before, after)[:MAX_ROWS]
    return list(_pair_lines([(sign, clip(line, MAX_LINE_CHARS)) for sign, line in lines]))


def diff_rows(target: str, before: str | None, after: str) -> list[DiffRow]:
    """The lines around what changes in a file; the frontmatter of a new one is left out."""
    lines = list(telling(make_diff(target, before, after).split("\n")))[2 : MAX_ROWS + 2]  # behind the names of files
    return list(_pair_lines([(line[0], clip(line[1:], MAX_LINE_CHARS)) for line in lines]))


def telling(diff: list[str]) -> Iterator[str]:
    """The lines of a diff that a reviewer reads: not the frontmatter of a new file, nor the footnotes around ours."""
    is_head = False
    for line in diff:
        if line == "+---":
            is_head = not is_head
        elif line and not is_head and not line.startswith((*OURS, " [^")):
            yield line


def _pair_lines(lines: Sequence[tuple[str, str]]) -> Iterator[DiffRow]:
    """Rows in order; removed lines are compared with those added behind them, one by one."""
    place = 0
    while place < len(lines):
        old = _run(lines[place:], "-")
        new = _run(lines[place + len(old) :], "+")
        if not old and not new:
            yield DiffRow(" ", ((lines[place][1], False),))
            place += 1
            continue
        place += len(old) + len(new)
        halves = [_compare_lines(one, other) for one, other in zip(old, new, strict=False)]
        for sign, run, side in (("-", old, 0), ("+", new, 1)):
            yield from (DiffRow(sign, half[side]) for half in halves)
            yield from (DiffRow(sign, ((line, False),)) for line in run[len(halves) :])


def _run(lines: Iterable[tuple[str, str]], sign: str) -> list[str]:
    found = []
    for mark, line in lines:
        if mark != sign:
            break
        found.append(line)
    return found


def _compare_lines(old: str, new: str) -> tuple[Parts, Parts]:
    """Two lines, cut where they differ."""
    olds, news = TOKEN.findall(old), TOKEN.findall(new)
    removed, added = [], []
    for what, i, j, k, m in difflib.SequenceMatcher(None, olds, news, autojunk=False).get_opcodes():
        differs = what != "equal"
        removed.append(("".join(olds[i:j]), differs))
        added.append(("".join(news[k:m]), differs))
    return tuple(part for part in removed if part[0]), tuple(part for part in added if part[0])
