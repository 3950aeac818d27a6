"""The topics as they are at one moment: what each says, line by line, and what it is about.

A snapshot is read once a run and handed to gate and comparison, so that both judge by the same text. Nothing is written
here. A topic that cannot be read is left out; `validate` reports it.
"""

import datetime as dt
import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import PurePosixPath
from types import MappingProxyType

from crawler.archive.choice import git_common_directory
from dream.statements.provenance import find_days, read_notes
from dream.statements.reading import StatementReading, read_statement
from memory_server.chunking import FOOTNOTE_DEFINITION, code_lines, split_lines
from memory_server.document import LineRange, SourcePath
from memory_server.errors import ContentError
from memory_server.language.sentences import Span, sentence_spans
from memory_server.language.words import Rarity, content_words, measure_rarity
from memory_server.layers.footnotes import REFERENCE
from memory_server.layers.mif import parse_date, parse_frontmatter
from memory_server.layers.topics import first_heading, markdown_files, name_in_words, read_text
from memory_server.root.git import ask_git
from memory_server.root.paths import MemoryRoot

HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*$")
LIST_SIGN = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")
NO_STATEMENT = re.compile(
    rf"{FOOTNOTE_DEFINITION.pattern}|\s*<!--|\s*\|[-:| ]+\|\s*$| {{0,3}}(?:-{{3,}}|\*{{3,}}|_{{3,}})\s*$"
)
FOOTNOTE_REFERENCE = re.compile(r"\[\^[^\]\s]+\]")
FOOTNOTES_BEHIND = re.compile(r"(?:\[\^[^\]\s]+\])+")
HISTORY_HEADINGS = frozenset({"history", "superseded", "changelog"})  # what stands below is no longer true
LESSONS = SourcePath("lessons.md")


@dataclass(frozen=True, slots=True)
class TopicStatement:
    """One sentence of a topic."""

    text: str  # without list sign and footnotes
    lines: LineRange  # of the file
    headings: tuple[str, ...]  # from the topic's own down
    before: str  # what stands on these lines ahead of the sentence: list sign, other sentences
    after: str  # what stands behind it and behind its footnotes, the line end included
    reading: StatementReading
    date: dt.date | None = None  # when it was said, as its footnotes tell; else that of its topic


@dataclass(frozen=True, slots=True)
class TopicText:
    """One file of layer 1 as it is now."""

    path: SourcePath
    text: str
    title: str
    statements: tuple[TopicStatement, ...]
    date: dt.date | None  # when it was last changed, as its frontmatter says, else git
    words: frozenset[str]  # stems of everything it says
    project: str = ""  # case-folded; empty: the person's own

    @property
    def lines(self) -> list[str]:
        """The file's lines with their ends."""
        return split_lines(self.text)


@dataclass(frozen=True, slots=True)
class Topics:
    """All files of layer 1 that statements can go to, sorted by path."""

    files: tuple[TopicText, ...]
    rarity: Rarity  # of words, among all statements
    has_folders: bool = True  # a project's topics lie in a folder of its name; not in a memory that is one project's

    def limit_to_project(self, project: str) -> "Topics":
        """What a statement of a project is compared with: the project's topics and the person's own, and of the lessons
        those of both. One that has no project is compared with the person's own.
        """
        wanted = ("", project.casefold())
        limited = (_limit_lessons(one, wanted) if one.path == LESSONS else one for one in self.files)
        return replace(self, files=tuple(one for one in limited if one.path == LESSONS or one.project in wanted))

    def file(self, path: SourcePath) -> TopicText | None:
        """The topic with this path, if there is one."""
        return next((topic for topic in self.files if topic.path == path), None)

    def list_own(self, project: str) -> list[TopicText]:
        """The topics of a project, without the lessons; of none, the person's own."""
        return [one for one in self.files if one.project == project.casefold() and one.path != LESSONS]


def _limit_lessons(lessons: TopicText, projects: Collection[str]) -> TopicText:
    """The lessons of some projects: those of one stand below its name, unless the frontmatter names one for all."""
    named = ((one, lessons.project or "".join(one.headings[1:2]).casefold()) for one in lessons.statements)
    return replace(lessons, statements=tuple(one for one, project in named if project in projects))


def read_topics(root: MemoryRoot) -> Topics:
    """The topics and the lessons of a memory root."""
    texts: dict[SourcePath, str] = {}
    files = [*markdown_files(root.topics), *([root.lessons] if root.lessons.is_file() else [])]
    for file in files:
        with suppress(ContentError):
            texts[root.relative(file)] = read_text(file)
    repository = git_common_directory(root.path)
    has_folders = repository is None or repository.parent == root.path.resolve()
    return replace(build_topics(texts, read_commit_days(root)), has_folders=has_folders)


def build_topics(texts: Mapping[SourcePath, str], committed: Mapping[str, dt.date] = MappingProxyType({})) -> Topics:
    """The topics with these texts, by path; `committed`: the day of a path's last commit."""
    topics = [parse_topic(path, texts[path], committed.get(path)) for path in sorted(texts)]
    rarity = measure_rarity(statement.text for topic in topics for statement in topic.statements)
    return Topics(tuple(topics), rarity)


def read_commit_days(root: MemoryRoot) -> dict[str, dt.date]:
    """The day of the last commit of each file of layer 1; nothing where git tells nothing."""
    command = ("log", "--relative", "--format=%cs", "--name-only", "--", "topics", "lessons.md")
    found: dict[str, dt.date] = {}
    day: dt.date | None = None
    for line in (ask_git(root.path, *command) or "").splitlines():
        if date := parse_date(line):  # no name begins with a day
            day = date
        elif line and day:
            found.setdefault(line, day)
    return found


def parse_topic(path: SourcePath, text: str, committed: dt.date | None = None) -> TopicText:
    """One topic; of a broken frontmatter what can be read key by key."""
    parsed = parse_frontmatter(text)
    title = parsed.text("title") or first_heading(parsed.body) or name_in_words(path)
    date = parsed.date("modified", "created") or committed
    noted = {label: max(days) for label, note in read_notes(text).items() if (days := list(find_days(note)))}
    statements = tuple(_statements(parsed.body, parsed.body_line, noted, date))
    words = frozenset(content_words(f"{format_name(path)} {title} {parsed.body}"))
    return TopicText(path, text, title, statements, date, words, parsed.text("project").casefold())


def _statements(
    body: str, first_line: int, noted: Mapping[str, dt.date], date: dt.date | None
) -> Iterator[TopicStatement]:
    """The sentences of a body; headings, code, footnotes and what stands below a history heading are none.

    `noted`: the day that a footnote names, by its label; `date` that of what has none.
    """
    for block in _blocks(body):
        text = "".join(line for _, line in block.lines)
        plain = FOOTNOTE_REFERENCE.sub(lambda match: " " * len(match[0]), text)
        # where each line of the block begins in its text, and where the last one ends
        starts = [*accumulate((len(line) for _, line in block.lines), initial=0)]
        for start, end in statement_spans(plain):
            first, last = bisect_right(starts, start) - 1, bisect_right(starts, end - 1) - 1
            where = LineRange(first_line + block.lines[first][0], first_line + block.lines[last][0])
            notes = FOOTNOTES_BEHIND.match(text, end)
            after = text[notes.end() if notes else end : starts[last + 1]]
            bare = " ".join(plain[start:end].split())
            before = text[starts[first] : start]
            days = [noted[label] for label in REFERENCE.findall(notes[0] if notes else "") if label in noted]
            on = max(days, default=date)
            yield TopicStatement(bare, where, block.headings, before, after, read_statement(bare), on)


def statement_spans(text: str) -> list[Span]:
    """The sentences of a topic's text; what a semicolon parts is one, since half of it may tell nothing by itself."""
    return sentence_spans(text.replace(";", ","))


@dataclass(slots=True)
class _Paragraph:
    """A paragraph or list item: its lines with their numbers in the body, from 0."""

    headings: tuple[str, ...]
    lines: list[tuple[int, str]] = field(default_factory=list)


def _blocks(body: str) -> Iterator[_Paragraph]:
    code = code_lines(body)
    headings: list[tuple[int, str]] = []
    block = _Paragraph(())
    for number, line in enumerate(split_lines(body)):
        heading = HEADING.match(line.rstrip("\r\n")) if number not in code else None
        is_history = any(text.casefold() in HISTORY_HEADINGS for _, text in headings)
        is_text = not (heading or number in code or is_history or NO_STATEMENT.match(line))
        if not is_text or not line.strip() or LIST_SIGN.match(line):
            if block.lines:
                yield block
            block = _Paragraph(tuple(text for _, text in headings))
        if heading:
            level = len(heading[1])
            headings = [*(held for held in headings if held[0] < level), (level, heading[2])]
            block = _Paragraph(tuple(text for _, text in headings))
        elif is_text and line.strip():
            block.lines.append((number, line))
    if block.lines:
        yield block


def find_last_line_above_sections(topic: TopicText) -> int:
    """The last line of what a topic says before its first section; that of its title where it says nothing there."""
    code = code_lines(topic.text)
    first = parse_frontmatter(topic.text).body_line
    lines = list(enumerate(topic.lines, start=1))
    headings = [(number, found) for number, line in lines if number - 1 not in code and (found := HEADING.match(line))]
    title = next((number for number, found in headings if len(found[1]) == 1), first - 1)
    section = next((number for number, found in headings if number != title), len(lines) + 1)
    ends = (one.lines.last for one in topic.statements if one.lines.last < section)
    return max(ends, default=title)


def format_name(path: SourcePath) -> str:
    """`topics/mail/relay.md` -> `mail relay`."""
    return " ".join(PurePosixPath(path.removeprefix("topics/")).with_suffix("").parts).replace("-", " ")


@dataclass(frozen=True, slots=True)
class NotedStatement:
    """What stands before a footnote reference: from the reference before it, or from the beginning of its block."""

    label: str
    text: str
    lines: LineRange  # of its block, a paragraph or list item, in the file


def list_noted_statements(text: str) -> Iterator[NotedStatement]:
    """What stands before each footnote reference of a topic. Two branches may have given one label to two lines."""
    parsed = parse_frontmatter(text)
    for block in _blocks(parsed.body):
        lines = LineRange(parsed.body_line + block.lines[0][0], parsed.body_line + block.lines[-1][0])
        block_text = LIST_SIGN.sub("", "".join(line for _, line in block.lines), count=1)
        at = 0
        for run in FOOTNOTES_BEHIND.finditer(block_text):
            statement = " ".join(block_text[at : run.start()].split())
            yield from (NotedStatement(label, statement, lines) for label in REFERENCE.findall(run[0]))
            at = run.end()
