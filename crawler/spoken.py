"""Where a person speaks in a turn: what they typed, chose, gave as the reason of a refusal, put behind a command; and
which of it is their own prose rather than pasted code, logs, diffs, tables, quoted mail, whole documents.

What was pasted is judged by lines, since a paste is made of lines. In doubt a line is not the person's own: a statement
missed costs a second mention, a pasted one taken for the person's word costs trust.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crawler.facts import ASKING_TOOL, parse_arguments
from crawler.transcripts.classify import filter_objects
from crawler.transcripts.entry import PartKind
from crawler.transcripts.turns import Turn
from memory_server.language.cues import ignore_case
from memory_server.language.sentences import Span, sentence_spans

REFUSED = re.compile(
    r"The user doesn't want to (?:proceed with|take) this.*?(?:the user said:|reason for the rejection:|\Z)", re.DOTALL
)  # how a client words a call that the person refused; what they said instead follows
ANSWER_END = re.compile(
    r"\"(?=, \"|\. (?:You can now|Read the answers carefully)| user notes:| selected |\Z)"
)  # of an answer, as clients write it
MOST_QUESTIONS = 20  # of one call; a client shows four, and each is compared with all that the assistant wrote there
CLIENTS_FRAME = re.compile(r"The user wants to clarify these questions|\n\nNote: The user's next message")
WORD = re.compile(r"\w")

OPTION = re.compile(
    r"^[ \t]*(?:[-*+][ \t]+)?(?:\*\*)?(?:[Oo]ption[ \t]+)?\(?(?P<sign>[A-Ha-h]|\d{1,2})[.):][ \t]*(?P<text>\S.*)$",
    re.MULTILINE,
)
PICK = ignore_case(
    r"^\W*(?:(?:ok(?:ay)?|yes|yeah|let'?s|lets|just|do|go|use|with|for|options?|number|the|i|i'd|would|prefer|like|want|choose"
    r"|pick|take)\b[\s,]*)*\(?([a-h]|\d{1,2})\)?(?:\s*(?:and|&|,|\+)\s*\(?([a-h]|\d{1,2})\)?)?\W*(?:please|then)?\W*$"
)
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


@dataclass(frozen=True, slots=True)
class Spoken:
    """A stretch of a turn in which the person speaks. The places count characters of the turn's text."""

    first: int
    end: int
    question: str = ""  # of the client, which it answers
    is_chosen: bool = False  # from the options shown: then the stretch holds the question too, as both say it together


def find_spoken(turn: Turn) -> list[Spoken]:
    """The stretches in which the person speaks, in order; none for a turn without their words."""
    if turn.is_prompt:
        return [Spoken(0, len(turn.text))]
    if turn.kind is PartKind.COMMAND:
        return _with_words(turn, turn.text.find(" ") + 1 or len(turn.text), len(turn.text))
    if turn.kind is not PartKind.RESULT:
        return []
    if refusal := REFUSED.match(turn.text) if is_clients(turn) else None:
        frame = CLIENTS_FRAME.search(turn.text, refusal.end())
        return _with_words(turn, refusal.end(), frame.start() if frame else len(turn.text))
    return list(_answers(turn)) if turn.tool == ASKING_TOOL and not turn.is_error else []


def _with_words(turn: Turn, first: int, end: int) -> list[Spoken]:
    return [Spoken(first, end)] if WORD.search(turn.text, first, end) else []


def is_clients(turn: Turn) -> bool:
    """Whether the client itself wrote a result that says no: what a server or a file says of refusals is no refusal,
    nor is a result whose call is not known.
    """
    is_clients_tool = bool(turn.tool) and not turn.tool.startswith("mcp__")
    return turn.is_error and is_clients_tool and not turn.text.startswith("Exit code")


def _answers(turn: Turn) -> Iterator[Spoken]:
    """What the person answered, found by the questions as asked: nothing in a question or option passes for an answer.

    A question whose beginning of an answer other words of the assistant hold too is passed over.
    """
    text, written = turn.text, [*_strings(parse_arguments(turn))]
    for question, labels in parse_questions(turn):
        head = f'"{question}"="'
        if head not in text or any(head in f'"{other}"="' for other in written if other != question):
            continue
        start = text.index(head)
        first = start + len(head)
        label = max((label for label in labels if text.startswith(label, first)), key=len, default="")
        end = ANSWER_END.search(text, first + len(label))
        if end is None:
            continue
        if label:
            yield Spoken(start, end.end(), question, is_chosen=True)
        elif WORD.search(text, first, end.start()):
            yield Spoken(first, end.start(), question)


def _strings(value: object) -> Iterator[str]:
    """Every text in a value of JSON."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, str):
            yield one
        left += one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()


def parse_questions(turn: Turn) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The questions that the client showed, each with the labels of its options."""
    for one in filter_objects(parse_arguments(turn).get("questions"))[:MOST_QUESTIONS]:
        if isinstance(one.get("question"), str):
            labels = (option.get("label") for option in filter_objects(one.get("options")))
            yield one["question"], tuple(label for label in labels if isinstance(label, str) and label)


def find_picked(reply: str, answer: str) -> Iterator[Span]:
    """The first sentence of each option of a reply that an answer picks, and does nothing else."""
    pick = PICK.match(answer)
    listed = {option["sign"].casefold(): option for option in OPTION.finditer(reply)}
    for sign in filter(None, pick.groups()) if pick else ():
        if option := listed.get(sign.casefold()):
            first, end = next(iter(sentence_spans(option["text"])), (0, len(option["text"])))
            yield option.start("text") + first, option.start("text") + end


# -- own prose among what was pasted --------------------------------------------------------------------------------


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
