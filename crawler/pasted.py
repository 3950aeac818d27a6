"""Finds the prose that a person typed among what they pasted: code, logs, diffs, tables, quoted mail, whole documents.

Judged by lines, since a paste is made of lines. In doubt a line is not the person's own: a statement missed costs a
second mention, a pasted one taken for the person's word costs trust.
"""

import itertools
import re
from collections.abc import Iterator, Sequence

from memory_server.language.cues import ignore_case
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
PASTE_INTRO = ignore_case(
    rf"(?:\b(?:{DOCUMENT})\b[^.!?\n]{{0,60}}|\b(?:says?|said|wrote|writes|reads?|states?|pasted?|pasting|copied"
    rf"|quoting"
    r"|forwarded|found this|got this|sent me this|sent this|this is what [^.!?\n]{0,40})[^.!?\n]{0,40})[:：]\s*$"
)
OWN_INTRO = ignore_case(
    r"\b(?:remember|note(?: down)?|rules?|conventions?|preferences?|from now on|keep in mind|facts?|decisions?|please"
    r"|i want|we need|i need|my|our)\b[^.!?\n]{0,60}[:：]\s*$"
)
REVIEW_MARK = ignore_case(r"\s*(?:low|medium|high|critical|minor|major) severity\s*$|\s*on \S+\.\w+ \d+\s*$")
SHOWS_DOCUMENT = ignore_case(
    rf"\b(?:this|these|following|below|here'?s|here is"
    rf"|attached)\b[^.!?\n]{{0,40}}\b(?:{DOCUMENT})\b[^\n]{{0,60}}[?.:]?\s*$"
)
LONG_PASTE_LINES = 14  # typed prose of more lines is rare, and a document with headings or a log is not typed
SHOWN_LINES = 3  # behind `does this page help?`, more lines than these are the page
INDENT = 4  # columns, after which Markdown reads code


def prose_regions(text: str) -> list[Span]:
    """The stretches of a person's text that may be their own prose, in order, without empty ones."""
    lines = text.splitlines(keepends=True)
    ends = [*itertools.accumulate(map(len, lines), initial=0)]  # of each line in the text, behind a 0
    regions = []
    # runs of lines that are all one's own, or all not, as character ranges
    for is_own, places in itertools.groupby(range(len(lines)), key=_own_lines(lines).__getitem__):
        run = [*places]
        first, end = ends[run[0]], ends[run[-1] + 1]
        if is_own and text[first:end].strip():
            regions.append((first, end))
    return regions


def _own_lines(lines: Sequence[str]) -> list[bool]:
    own = [not _is_foreign(line.rstrip("\r\n")) for line in lines]
    fenced = frozenset(_find_fenced(lines))
    _spread_over_blocks(lines, own, fenced)
    pasted_from = _paste_start(lines)
    return [is_own and place < pasted_from and place not in fenced for place, is_own in enumerate(own)]


def _is_foreign(line: str) -> bool:
    """Whether a line by itself shows that nobody typed it as prose."""
    patterns = (QUOTED_LINE, SHELL_LINE, MACHINE_LINE, CODE_LINE, TABLE)
    return bool(line.strip()) and any(pattern.match(line) for pattern in patterns)


def _find_fenced(lines: Sequence[str]) -> Iterator[int]:
    fence = ""
    for place, line in enumerate(lines):
        mark = FENCE.match(line)
        if fence or mark:
            yield place
        if mark and not fence:
            fence = mark[1]
        elif fence and line.strip().startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""


def _spread_over_blocks(lines: Sequence[str], own: list[bool], fenced: frozenset[int]) -> None:
    """A paragraph that is mostly foreign is foreign whole; so is what is indented like code."""
    is_text = [bool(line.strip()) and place not in fenced for place, line in enumerate(lines)]
    for in_block, places in itertools.groupby(range(len(lines)), key=is_text.__getitem__):
        if not in_block:
            continue
        block = [*places]
        foreign = sum(not own[place] for place in block)
        starts = {lines[place][0] for place in block}
        is_diff = starts <= {"+", "-"} and "+" in starts
        indented = block[0] > 0 and all(lines[place].startswith((" " * INDENT, "\t")) for place in block)
        if foreign * 2 >= len(block) or is_diff or indented:
            for place in block:
                own[place] = False


def _paste_start(lines: Sequence[str]) -> int:
    """The line from which on everything is a paste: behind `the docs say:`, or at the first heading of a document."""
    starts = [len(lines)]
    headings = [place for place, line in enumerate(lines) if HEADING.match(line)]
    if len(headings) >= 2 or (headings and len(lines) >= LONG_PASTE_LINES):
        starts.append(headings[0])
    marked = next((place for place, line in enumerate(lines) if REVIEW_MARK.match(line)), None)
    if marked is not None:  # the title of a review's finding stands in the paragraph before its mark
        starts.append(next((place + 1 for place in range(marked) if lines[place].rstrip().endswith(":")), 0))
    for place, line in enumerate(line.strip() for line in lines[:-1]):
        shows = SHOWS_DOCUMENT.search(line) and len(lines) - place > SHOWN_LINES
        if shows or (PASTE_INTRO.search(line) and not OWN_INTRO.search(line)):
            starts.append(place + 1)
    return min(starts)
