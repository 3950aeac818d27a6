"""`MEMORY.md`: a table of contents of the topics, for a person and for Claude.

What stands between the two markers is generated from the approved topics: the person's own first, then those of each
project below its name. Every line outside the markers is the person's own and is kept byte for byte. The same topics
give the same bytes. The page stays within its limits, since Claude Code cuts what is beyond them: summaries are
shortened first, then the topics that were used least are left out, and the last line says how many there are.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from types import MappingProxyType

from memory_server.chunking import FOUNDING_LINES, POINTERS_BEGIN, POINTERS_END, code_lines, split_lines
from memory_server.document import SourcePath
from memory_server.errors import ContentError
from memory_server.layers.topics import (
    SUMMARY_CHARS,
    TopicHead,
    Unapproved,
    is_topic,
    read_text,
    select_approved,
    shorten_text,
    topic_heads,
)
from memory_server.machine.files import replace_file
from memory_server.root.paths import MemoryRoot
from memory_server.settings import MemorySettings

NEW_PAGE = "# Memory\n"
FOUNDED = {  # the pages that a memory begins with, on which nothing is said yet
    "MEMORY.md": f"# Memory\n\n{FOUNDING_LINES[0]}\n\n",
    "lessons.md": f"# Lessons\n\n{FOUNDING_LINES[1]}\n",
}
TITLE_CHARS = 80
SUMMARY_WIDTHS = (SUMMARY_CHARS, 90, 60, 30, 0)  # tried in turn until the page fits
UNSAFE_IN_TARGET = re.compile(r"[\x00-\x20\x7f\\()<>%?#\[\]`]")
INVISIBLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")  # could hide or turn text
TAG = re.compile(r"<(?=[A-Za-z/!?])")  # what begins a tag or a comment would hide what is behind it
PLAIN = str.maketrans({"[": "(", "]": ")", "\\": "/"})  # so that no text ends or opens a link, and none needs escapes
NO_USE: Mapping[SourcePath, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Markers:
    """Where the generated part of a page stands: the lines of both markers, counted from 0."""

    begin: int
    end: int


def write_index_page(
    root: MemoryRoot,
    settings: MemorySettings,
    unapproved: Unapproved = lambda _: {},
    uses: Mapping[SourcePath, int] = NO_USE,
) -> bool:
    """Brings the pointers of `MEMORY.md` level with the topics; whether anything changed. Makes a missing page.

    Raises ContentError where the page cannot be read or its markers are not one pair.
    """
    page = root.index_page
    if page.is_symlink():
        raise ContentError("the index page is a symlink", where=page.name, line=1, remedy="Put a file in its place")
    try:
        old = read_text(page) if page.exists() else None
        heads = select_approved(topic_heads(root), unapproved)
        new = with_pointers(NEW_PAGE if old is None else old, heads, settings, uses)
    except ContentError as error:
        raise ContentError(error.what, where=page.name, line=error.line, remedy=error.remedy) from error
    if new == old or not _is_still(page, old):
        return False
    replace_file(root.written_page, page_hash(new))
    replace_file(page, new)
    return True


def is_as_written(root: MemoryRoot, text: str) -> bool:
    """Whether a text of the index page is the one that the program wrote last."""
    try:
        return root.written_page.read_text(encoding="ascii") == page_hash(text)
    except (OSError, ValueError):
        return False


def page_hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _is_still(page: Path, old: str | None) -> bool:
    """Whether the page is as it was read: where a person has saved it meanwhile, the next run sees what they wrote."""
    return (read_text(page) if page.exists() else None) == old


def with_pointers(
    text: str, heads: Sequence[TopicHead], settings: MemorySettings, uses: Mapping[SourcePath, int] = NO_USE
) -> str:
    """The page with pointers to these topics between its markers, which are added at the end where there are none.

    `uses`: how often each was opened; where not all fit, those used least are left out. Heads of other files than
    topics are passed over. Raises ContentError where the markers are not one pair.
    """
    lines = split_lines(text)
    markers = find_markers(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    if markers is None:
        before = text if not text or text.endswith(("\n", "\r")) else text + newline
        gap = "\r" if before.endswith("\r") else newline  # a line feed behind a lone carriage return would join it
        before += gap if before and lines[-1].strip() else ""
        begin, end, after = POINTERS_BEGIN + newline, POINTERS_END + newline, ""
    else:
        before = "".join(lines[: markers.begin])
        begin, end = lines[markers.begin], lines[markers.end]
        after = "".join(lines[markers.end + 1 :])
    frame = before + begin + end + after
    if find_markers(frame) is None:
        raise ContentError("a code block is never closed", line=1 + min(code_lines(text)), remedy="Close it")
    topics = [_clean_project(head) for head in heads if is_topic(head.path)]
    shown = _fitting(
        sorted(topics, key=lambda head: (-uses.get(head.path, 0), *_place(head))),
        max_lines=settings.index_max_lines - len(split_lines(frame)),
        max_chars=settings.index_max_chars - len(frame),
        newline=newline,
    )
    return before + begin + shown + end + after


def own_lines(text: str) -> list[str]:
    """The lines of the page that a person wrote: not the pointers, nor the title, comments and empty lines.

    Raises ContentError where the markers are not one pair.
    """
    lines, markers = split_lines(text), find_markers(text)
    own = lines if markers is None else [*lines[: markers.begin], *lines[markers.end + 1 :]]
    bare = [line.rstrip() for line in own if line.strip() and not line.lstrip().startswith("<!--")]
    return bare[1:] if bare[:1] == [NEW_PAGE.strip()] else bare


def find_markers(text: str) -> Markers | None:
    """The pair of markers outside code; None where there are none. Raises ContentError where they are no pair."""
    code = code_lines(text)
    found = [
        (number, line.strip())
        for number, line in enumerate(split_lines(text))
        if number not in code and line.strip() in (POINTERS_BEGIN, POINTERS_END)
    ]
    if not found:
        return None
    if [mark for _, mark in found] != [POINTERS_BEGIN, POINTERS_END]:
        raise ContentError(
            "the markers of the pointers are not one pair",
            line=1 + found[-1][0],
            remedy=f"Leave one {POINTERS_BEGIN} and below it one {POINTERS_END}",
        )
    return Markers(found[0][0], found[1][0])


def pointer(head: TopicHead, summary_chars: int = SUMMARY_CHARS) -> str:
    """One line of the index: `- [title](topics/name.md): summary`."""
    title, summary = plain(head.title, TITLE_CHARS), shorten_text(plain(head.summary), summary_chars)
    ending = f": {summary}" if summary_chars and summary.rstrip(".") not in ("", title) else ""
    until = f" (until {head.interval.last})" if head.interval.last else ""
    return f"- [{title}]({escape_target(head.path)}){until}{ending}"


def escape_target(path: SourcePath) -> str:
    """A path as the target of a Markdown link."""
    return UNSAFE_IN_TARGET.sub(lambda match: f"%{ord(match[0]):02X}", path)


def plain(text: str, max_chars: int = SUMMARY_CHARS) -> str:
    """A text on one line, in which nothing is hidden and nothing opens or ends a link, a tag or, alone, code."""
    visible = TAG.sub("‹", INVISIBLE.sub(" ", text).translate(PLAIN))
    short = shorten_text(" ".join(visible.split()), max_chars)
    return short if short.count("`") % 2 == 0 else short.replace("`", "'")


def _clean_project(head: TopicHead) -> TopicHead:
    """A head whose project is spelled as a page may show it."""
    return replace(head, project=plain(head.project, TITLE_CHARS))


def _place(head: TopicHead) -> tuple[str, str, str]:
    """What a topic is sorted by: the person's own first, then by project and title."""
    return head.project.casefold(), head.title.casefold(), head.path


def _fitting(heads: Sequence[TopicHead], *, max_lines: int, max_chars: int, newline: str) -> str:
    """As many of the topics as fit, the first before others, and as much of their summaries; the last line tells how
    many are left out.

    Nothing where the person's own lines leave no room: what pushes the last of them out would be cut by the client.
    """
    shown = _most(len(heads), lambda count: len(_block(heads, count, 0)) <= max_lines)
    for width in SUMMARY_WIDTHS:
        block = _join_lines(_block(heads, shown, width), newline)
        if len(block) <= max_chars:
            return block if max_lines > 0 else ""
    shown = _most(shown, lambda count: len(_join_lines(_block(heads, count, 0), newline)) <= max_chars)
    lines = _block(heads, shown, 0)
    block = _join_lines(lines, newline)
    return block if len(lines) <= max_lines and len(block) <= max_chars else ""


def _most(count: int, fits: Callable[[int], bool]) -> int:
    """The highest number up to this one that fits; 0 where none does. What fits for a number fits for a lower one."""
    low, high = 0, count
    if fits(high):
        return high
    while low < high - 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _join_lines(lines: Sequence[str], newline: str) -> str:
    return "".join(line + newline for line in lines)


def _block(heads: Sequence[TopicHead], shown: int, width: int) -> list[str]:
    """The lines for the first of the topics, by project and title, and the one that tells of the others."""
    lines: list[str] = []
    for project, group in groupby(sorted(heads[:shown], key=_place), key=lambda head: head.project.casefold()):
        ours = list(group)
        titles = Counter(head.title.casefold() for head in ours)
        pointers = [pointer(_add_name(head) if titles[head.title.casefold()] > 1 else head, width) for head in ours]
        lines += [f"- **{ours[0].project}**", *(f"  {line}" for line in pointers)] if project else pointers
    if hidden := len(heads) - shown:
        lines.append(f"- {hidden} more topic{'s' if hidden > 1 else ''}: `oneiros topics` lists all {len(heads)}")
    return lines


def _add_name(head: TopicHead) -> TopicHead:
    """A head whose title another topic of its project has too: with its name, no two entries are alike."""
    title, name = shorten_text(head.title, TITLE_CHARS // 2), shorten_text(head.name, TITLE_CHARS // 3)
    return replace(head, title=f"{title} ({name})")
