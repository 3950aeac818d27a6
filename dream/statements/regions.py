"""Finds the prose that a person typed among what they pasted: code, logs, diffs, tables, quoted mail, whole documents.

Judged by lines, since a paste is made of lines. In doubt a line is not the person's own: a statement missed costs a
second mention, a pasted one taken for the person's word costs trust.
"""

import re
from collections.abc import Iterator

from memory_server.language.sentences import Span

FENCE = re.compile(r"\s*(`{3,}|~{3,})")
QUOTED_LINE = re.compile(r"\s*(?:>|\|)\s?|\s*On .{5,80} wrote:\s*$")
SHELL_LINE = re.compile(r"\s*(?:[$❯➜#%]\s+\S|[\w.@-]+@[\w.-]+[:~ ].*[$#%]\s|\S+ % \S|PS [A-Z]:\\|>>> )")
MACHINE_LINE = re.compile(
    r"\s*(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|\[\d{2,4}[-/]"  # time stamps
    r"|(?:Traceback|File \"|at [\w.$<>]+ ?\(|Caused by:|panic:|goroutine \d|\w*(?:Error|Exception)(?:\[\w+\])?:)"
    r"|(?:error|warning|warn|info|debug|fatal|note|hint|npm|fail|failed|pass|ok|trace)(?:\[[\w:]+\])?[:!]\s|(?:=== "
    r"|--- |\+\+\+ |@@ |diff |index [0-9a-f]{7}|commit [0-9a-f]{7,}|Author: |Date: |From: |To: |Subject: |Sent: )"
    r"|[+-](?=[\w{}()\"'<@#/])"  # lines of a diff
    r"|[✓✗✔✘×⨯•⏺⎿└├│┌╭╰>]|_{6,}|={4,}|-{4,}|~{4,}|\*{4,}|\d+ [+-]|E  +|[\w./-]+:\d+(?::\d+)?[: ])"
)
CODE_LINE = re.compile(
    r"\s*(?:(?:def|class|import|from \S+ import|return|const|let|var|func|fn|pub|public|private|static|async|package"
    r"|if|for|while|else|try)\b(?=.*[(){}\[\];=]).*[(){}\[\];:,]\s*|#include.*|#!/.*|(?:SELECT|INSERT|UPDATE|CREATE"
    r"|DROP|ALTER) .*|[\w.$\[\]\"']+\s*(?:[:+-]?=)(?!=)\s*\S.*|[\"'][\w.-]+[\"']\s*:\s.*|[)\]}{(;,]+\s*|.*[{;]\s*"
    r"|</?\w+[^>]*>.*)$"
)
HEADING = re.compile(r"\s{0,3}#{1,6}\s+\S|\s{0,3}\S.{0,80}\n[=-]{3,}\s*$")
TABLE = re.compile(r"\s*\|.*\|\s*$|.*\S\t\S.*\t\S")
DOCUMENT = (
    r"docs?|documentation|readme|logs?|output|errors?|message|e-?mail|mail|ticket|issue|comments?|feedback|review"
    r"|article|page|wiki|slack|thread|transcript|spec|snippet|excerpt|quote|text|post|blog|manual|guide|report"
    r"|announcement|pdf|newsletter|chat|prompt|template|example|sample|draft|stack ?trace|response|reply|changelog"
    r"|release notes|policy"
)
PASTE_INTRO = re.compile(
    rf"(?:\b(?:{DOCUMENT})\b[^.!?\n]{{0,60}}|\b(?:says?|said|wrote|writes|reads?|states?|pasted?|pasting|copied"
    rf"|quoting"
    r"|forwarded|found this|got this|sent me this|sent this|this is what [^.!?\n]{0,40})[^.!?\n]{0,40})[:：]\s*$",
    re.IGNORECASE,
)
OWN_INTRO = re.compile(
    r"\b(?:remember|note(?: down)?|rules?|conventions?|preferences?|from now on|keep in mind|facts?|decisions?|please"
    r"|i want|we need|i need|my|our)\b[^.!?\n]{0,60}[:：]\s*$",
    re.IGNORECASE,
)
REVIEW_MARK = re.compile(
    r"\s*(?:low|medium|high|critical|minor|major) severity\s*$|\s*on \S+\.\w+ \d+\s*$", re.IGNORECASE
)
SHOWS_DOCUMENT = re.compile(
    rf"\b(?:this|these|following|below|here'?s|here is"
    rf"|attached)\b[^.!?\n]{{0,40}}\b(?:{DOCUMENT})\b[^\n]{{0,60}}[?.:]?\s*$",
    re.IGNORECASE,
)
LONG_PASTE_LINES = 14  # typed prose of more lines is rare, and a document with headings or a log is not typed
SHOWN_LINES = 3  # behind `does this page help?`, more lines than these are the page
INDENT = 4  # columns, after which Markdown reads code


def prose_regions(text: str) -> list[Span]:
    """The stretches of a person's text that may be their own prose, in order, without empty ones."""
    lines = _lines(text)
    own = _own_lines(text, lines)
    regions: list[Span] = []
    for (first, end), is_own in zip(lines, own, strict=True):
        if not is_own:
            continue
        if regions and regions[-1][1] == first:
            regions[-1] = (regions[-1][0], end)
        else:
            regions.append((first, end))
    return [(first, end) for first, end in regions if text[first:end].strip()]


def _lines(text: str) -> list[Span]:
    spans, position = [], 0
    for line in text.splitlines(keepends=True):
        spans.append((position, position + len(line)))
        position += len(line)
    return spans


def _own_lines(text: str, lines: list[Span]) -> list[bool]:
    own = [not _is_foreign(text[first:end]) for first, end in lines]
    fenced = frozenset(_fenced(text, lines))
    _spread_over_blocks(text, lines, own, fenced)
    pasted_from = _paste_start(text, lines)
    return [is_own and place < pasted_from and place not in fenced for place, is_own in enumerate(own)]


def _is_foreign(line: str) -> bool:
    """Whether a line by itself shows that nobody typed it as prose."""
    bare = line.rstrip("\r\n")
    if not bare.strip():
        return False
    return any(pattern.match(bare) for pattern in (QUOTED_LINE, SHELL_LINE, MACHINE_LINE, CODE_LINE, TABLE))


def _fenced(text: str, lines: list[Span]) -> Iterator[int]:
    fence = ""
    for place, (first, end) in enumerate(lines):
        line = text[first:end]
        mark = FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
            yield place
        elif fence:
            yield place
            if line.strip().startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""


def _spread_over_blocks(text: str, lines: list[Span], own: list[bool], fenced: frozenset[int]) -> None:
    """A paragraph that is mostly foreign is foreign whole; so is what is indented like code."""
    for block in _blocks(text, lines, fenced):
        foreign = sum(not own[place] for place in block)
        lone = [text[lines[place][0]] for place in block]
        is_diff = set(lone) <= {"+", "-"} and "+" in lone
        indented = all(text[lines[place][0] : lines[place][1]].startswith((" " * INDENT, "\t")) for place in block)
        if foreign * 2 >= len(block) or is_diff or (indented and block[0] > 0):
            for place in block:
                own[place] = False


def _blocks(text: str, lines: list[Span], fenced: frozenset[int]) -> Iterator[list[int]]:
    block: list[int] = []
    for place, (first, end) in enumerate(lines):
        if text[first:end].strip() and place not in fenced:
            block.append(place)
        elif block:
            yield block
            block = []
    if block:
        yield block


def _paste_start(text: str, lines: list[Span]) -> int:
    """The line from which on everything is a paste: behind `the docs say:`, or at the first heading of a document."""
    starts = [len(lines)]
    headings = [place for place, (first, end) in enumerate(lines) if HEADING.match(text[first:end])]
    if len(headings) >= 2 or (headings and len(lines) >= LONG_PASTE_LINES):
        starts.append(headings[0])
    if any(REVIEW_MARK.match(text[first:end]) for first, end in lines):
        starts.append(_before_review(text, lines))
    for place, (first, end) in enumerate(lines[:-1]):
        line = text[first:end].strip()
        shows = SHOWS_DOCUMENT.search(line) and len(lines) - place > SHOWN_LINES
        if shows or (PASTE_INTRO.search(line) and not OWN_INTRO.search(line)):
            starts.append(place + 1)
    return min(starts)


def _before_review(text: str, lines: list[Span]) -> int:
    """The line on which a pasted finding of a review begins: its title stands in the paragraph before the mark."""
    marked = next(place for place, (first, end) in enumerate(lines) if REVIEW_MARK.match(text[first:end]))
    intro = next((place for place in range(marked) if text[slice(*lines[place])].rstrip().endswith(":")), -1)
    return intro + 1
