"""Cuts a Markdown file into the statements that it makes, each with its line and the headings above it.

A list item or a paragraph is a statement as it stands, a long one is cut between sentences; what a reader of a topic
would not miss is left out and counted: code blocks, tables, HTML, quoted text, lines that only lead to the next. A line
that leads to a list stands above the items of it like a heading; where it denies them or says when they hold
(`Never:`), it is part of each. Of a record of a decision only the decision is taken.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.token import Token

from memory_server.language.cues import NEGATION
from memory_server.language.sentences import sentence_spans
from memory_server.language.words import content_words
from memory_server.layers.mif import parse_frontmatter

MAX_CHARS = 400  # of a statement, as the gate has it
MIN_WORDS = 2  # telling words, below which nothing is stated
MARKDOWN = MarkdownIt("commonmark").enable("table").disable("inline")  # a statement keeps its marks
LEFT_OUT = frozenset({"fence", "code_block", "table_open", "html_block", "blockquote_open"})
POINTS = re.compile(
    r"(?:for (?:more|full|further|details?)\b.{0,60}\b)?(?:see|read|refer to)\b(?: also)? ?[:`\[@].*"
    r"|this file provides guidance to .*|table of contents|\[[^\]]*\]\([^)]*\)|@\S+|[\w -]*\[\[[^\]]*\]\]|`[^`]+`"
    r"|\**(?:note|example)s?\**",
    re.IGNORECASE,
)  # what sends the reader elsewhere, or is a command and nothing else
CHECKBOX = re.compile(r"\[[ xX]\]\s+")
CATEGORY = re.compile(r"\[[\w -]+\]\s+(?=\S)")  # of an observation: `- [decision] Ports are fixed. #network (mail)`
TAGS = re.compile(r"(?:\s+#[\w/-]+)+(?:\s+\([^)]*\))?\s*$")
DECIDED = re.compile(r"decision(?: outcome)?s?|we (?:decided|will).*|entscheidung", re.IGNORECASE)
TURNS = re.compile(
    rf"{NEGATION.pattern}|\b(?:avoid|wrong|bad|incorrect|forbidden|instead|anti-?patterns?|except)\b|[❌✗🚫]"
    r"|^(?:when|if|unless|before|after|while|until|for|on|in|as long as)\b",
    re.IGNORECASE,
)  # of a leading line: without it the items would say something else
GIVEN_UP = re.compile(r"\b(?:superseded|rejected|deprecated|withdrawn)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Passage:
    """One statement of a file."""

    text: str  # as the file has it, on one line, without the sign of its list
    line: int  # on which it begins, counted from 1
    headings: tuple[str, ...]  # above it, lines that lead to it among them; without the title of the file
    sections: tuple[str, ...]  # the headings alone, behind the name that a frontmatter gives the file
    lead: "Lead | None" = None  # that turns it, or says when it holds


@dataclass(frozen=True, slots=True)
class Lead:
    """A line that leads to a list."""

    text: str  # as the file has it, on one line
    line: int  # counted from 1


@dataclass(slots=True)
class Cut:
    """What a file says."""

    passages: list[Passage] = field(default_factory=list)
    left_out: int = 0  # blocks that are no statement


def cut(text: str) -> Cut:
    """The statements of a Markdown text."""
    body, first_line, title = _parse_body(text)
    found = Cut()
    for block in _blocks(body, found):
        sections = block.sections if not title else (title, *block.sections)
        headings = (*sections, *block.leads)
        for statement, line in _statements(block):
            if _is_statement(statement):
                lead = block.lead and Lead(block.lead.text, first_line + block.lead.line)
                found.passages.append(Passage(statement, first_line + line, headings, sections, lead))
            else:
                found.left_out += 1
    return found


def cut_decision(text: str) -> Cut:
    """What a record of a decision decides; nothing of one that was given up."""
    found = cut(text)
    status = [one.text for one in found.passages if one.headings[-1:] and "status" in one.headings[-1].casefold()]
    status += re.findall(r"(?im)^[-*\s]*\**status\**\s*:(.*)$", text)
    status += re.findall(r"(?im)^#+ *status *\n+(.*)$", text)
    if any(GIVEN_UP.search(one) for one in status):
        return Cut([], found.left_out + len(found.passages))
    decided = [Passage(one.text, one.line, ("Decisions",), ()) for one in found.passages if _is_decided(one)]
    return Cut(decided, found.left_out + len(found.passages) - len(decided))


def _is_decided(passage: Passage) -> bool:
    return any(DECIDED.fullmatch(heading.strip()) for heading in passage.headings)


def _parse_body(text: str) -> tuple[str, int, str]:
    """The text behind the frontmatter, the line on which it begins, and the name that the frontmatter gives it."""
    front = parse_frontmatter(text)
    return front.body, front.body_line, front.text("title") or front.text("name") or ""


@dataclass(frozen=True, slots=True)
class _ProseBlock:
    """A paragraph or list item."""

    text: str
    line: int  # counted from 0
    is_item: bool
    sections: tuple[str, ...]
    leads: tuple[str, ...]
    lead: Lead | None = None  # its line counted from 0


def _blocks(body: str, found: Cut) -> Iterator[_ProseBlock]:
    tokens = MARKDOWN.parse(body)
    has_title = sum(token.type == "heading_open" and token.tag == "h1" for token in tokens) == 1
    above: list[tuple[int, str]] = []  # depth and text of the headings
    leads: list[tuple[int, Lead]] = []  # with their levels, in tokens
    skipped = -1  # level of a block whose inside is left out
    for place, token in enumerate(tokens):
        if skipped >= 0:
            skipped = -1 if token.level == skipped and token.nesting < 0 else skipped
        elif token.type in LEFT_OUT:
            found.left_out += 1
            skipped = token.level if token.nesting > 0 else -1
        elif token.type == "heading_open":
            depth = int(token.tag[1])
            above = [*(one for one in above if one[0] < depth), (depth, tokens[place + 1].content.strip())]
            leads = []
        elif token.type == "paragraph_open" and token.map is not None:
            leads = [lead for lead in leads if lead[0] < token.level]
            content = tokens[place + 1].content
            if _leads(content, tokens[place + 1 :]):
                leads.append((token.level, Lead(" ".join(content.split()), token.map[0])))
            over = [lead for level, lead in leads if level < token.level]
            sections = tuple(text for depth, text in above if depth > has_title)
            led = tuple(bare_lead(lead) for lead in over)
            is_item = place > 0 and token.level > 0 and tokens[place - 1].type == "list_item_open"
            if not content.rstrip(" *_").endswith(":"):
                turning = next((lead for lead in reversed(over) if TURNS.search(bare_lead(lead))), None)
                yield _ProseBlock(content, token.map[0], is_item, sections, led, turning)


def bare_lead(lead: Lead) -> str:
    """What a leading line says, without its marks."""
    return lead.text.strip(" :*_")


def _leads(text: str, behind: Sequence[Token]) -> bool:
    following = next((token.type for token in behind if token.type not in ("inline", "paragraph_close")), "")
    return text.rstrip(" *_").endswith(":") and following in ("bullet_list_open", "ordered_list_open")


def _statements(block: _ProseBlock) -> Iterator[tuple[str, int]]:
    """The statements of a block with their lines, from 0."""
    text = TAGS.sub("", block.text)
    if block.is_item:
        text = text[match.end() :] if (match := CHECKBOX.match(text) or CATEGORY.match(text)) else text
    whole = " ".join(text.split())
    if len(whole) <= MAX_CHARS and (block.is_item or _is_statement(whole)):  # its sentences lean on one another
        yield whole, block.line
        return
    held: list[tuple[int, int]] = []
    for first, end in sentence_spans(text.replace("\n", " ").replace(";", ",")):  # as long, and no half a sentence
        if held and end - held[-1][0] <= MAX_CHARS:
            held[-1] = (held[-1][0], end)
        else:
            held.append((first, end))
    for first, end in held:
        yield " ".join(text[first:end].split()), block.line + text.count("\n", 0, first)


def _is_statement(text: str) -> bool:
    is_telling = len(content_words(text)) >= MIN_WORDS and any(letter.isalpha() for letter in text)
    return is_telling and not text.rstrip(" *_").endswith(("?", ":")) and not POINTS.fullmatch(text.strip(" .*_"))
