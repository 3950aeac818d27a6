"""`lessons.md`: mistakes that were made more than once, as checks before a task.

A lesson of a project stands below `## <project>`; what stands above the first such heading holds everywhere. Where the
frontmatter names a project, all of them are of that one, and the headings are the person's.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memory_server.chunking import FOOTNOTE_DEFINITION, code_lines, split_lines
from memory_server.document import SourcePath
from memory_server.errors import ContentError
from memory_server.layers.mif import parse_frontmatter
from memory_server.layers.topics import read_text
from memory_server.root.paths import MemoryRoot

LESSONS_PAGE = SourcePath("lessons.md")
PROJECT = re.compile(r" {0,3}##[ \t]+(.*?)[ \t#]*$")
ITEM = re.compile(r"[-*+]\s+")
REFERENCE = re.compile(r"\[\^[^\]]+\]")


@dataclass(frozen=True, slots=True)
class Lesson:
    """One list item of the lessons, on one line and without its footnotes."""

    text: str
    project: str  # empty: it holds everywhere


def read_lessons(root: MemoryRoot) -> list[Lesson]:
    """The lessons in the order of their file; none where there is none, or it cannot be read."""
    try:
        text = read_text(root.lessons)
        parsed = parse_frontmatter(text)
    except ContentError:
        return []
    found: list[Lesson] = []
    is_open = False  # whether the line before belongs to a lesson
    first, whole = parsed.body_line, parsed.text("project")
    for number, (line, below) in enumerate(zip(split_lines(text), _find_projects(text), strict=True), start=1):
        project = whole or below
        bare = REFERENCE.sub("", line).strip()
        if number >= first and ITEM.match(line):
            found.append(Lesson(ITEM.sub("", bare, count=1), project))
        elif is_open and bare and line.startswith((" ", "\t")):
            found[-1] = Lesson(f"{found[-1].text} {bare}", project)
        is_open = bool(bare) and not FOOTNOTE_DEFINITION.match(line) and (is_open or bool(ITEM.match(line)))
    return found


def _find_projects(text: str) -> Iterator[str]:
    """For each line of the lessons the project below whose name it stands; empty above the first."""
    code, project = code_lines(text), ""
    for number, line in enumerate(split_lines(text)):
        if number not in code and (heading := PROJECT.match(line.rstrip("\r\n"))):
            project = heading[1]
        yield project
