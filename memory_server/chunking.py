"""Cuts a document into chunks along its Markdown structure.

Promised: the texts of all chunks, joined, are the body, to the last character; a code block is never cut inside a
line; headings, list items, table rows and paragraphs stay whole where they fit. Footnotes, the rule above them and
generated pointers belong to their chunk's text, but are not searchable. What a chunk is worth is decided elsewhere.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from markdown_it import MarkdownIt
from markdown_it.token import Token

from memory_server.document import BY_LINE, Chunk, ChunkId, Document, Layer, LineRange
from memory_server.language.sentences import PASSAGE_END

TARGET_CHARS = 700  # some 150 to 180 tokens: larger pieces blur in one vector, see benchmarks/RESULTS.md
MAX_CHARS = 1_000  # some 250 tokens, what the smallest supported model reads of a passage
HEADING_CHARS = 200  # what headings may add to the passage below them
POINTERS_BEGIN = "<!-- oneiros:topics:begin -->"
POINTERS_END = "<!-- oneiros:topics:end -->"
FOUNDING_LINES = (  # on the pages that a memory begins with, before anything is known
    "What is known, topic by topic. Topics are approved: they win over sessions and references.",
    "Mistakes that were made more than once, as checks to run before starting.",
)

CODE = ("fence", "code_block")
OPENING = {"paragraph_open": 0, "list_item_open": 1, "heading_open": 0}  # how deep a block stands that is a statement
COMMENT = re.compile(  # and code, in which the same signs are none
    r"(?P<code>^ {0,3}(?P<fence>`{3,}|~{3,}).*?^ {0,3}(?P=fence)|(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))"
    r"|<!--.*?-->|(?<![\w%])%%(?![\d%]).+?%%(?![\w%])",
    re.DOTALL | re.MULTILINE,
)
LIST_MARK = re.compile(r"\A(?:[-*+]|\d{1,9}[.)])[ \t]+")
LINE_BREAK = re.compile(r"\r\n|\n|\r")
FOOTNOTE_DEFINITION = re.compile(r" {0,3}\[\^[^\]\s]+\]:")
FOOTNOTE_REFERENCE = re.compile(r"(?<!\\)\[\^[^\]\[\s]{1,100}\]")
MARKDOWN = (
    MarkdownIt("commonmark").enable("table").disable("inline")
)  # blocks alone: inline marks take most of the time


@dataclass(slots=True)
class _Piece:
    """Lines that are not to be parted, or a part of one very long line."""

    text: str
    first: int  # line of the body, from 0
    hidden: bool = False
    heading: tuple[int, str] | None = None  # depth and text, where the piece is a heading
    opens: bool = False  # whether a statement begins with it: a heading, a paragraph or an item, none inside another


@dataclass(slots=True)
class _Group:
    """Pieces that become one chunk."""

    headings: tuple[str, ...]
    pieces: list[_Piece] = field(default_factory=list)

    @property
    def size(self) -> int:
        return sum(len(piece.text) for piece in self.pieces)


def chunk_document(document: Document) -> tuple[Chunk, ...]:
    """The chunks of a document in order; none where its body is empty.

    A reference is cut by sections and filled up to TARGET_CHARS. A topic gives a chunk a statement: an item with what
    is set in below it, or a paragraph with the code or table that follows it, up to TARGET_CHARS. A session gives a
    chunk a line, since each of its lines is a statement or a turn of its own. No chunk is longer than MAX_CHARS and
    what headings add to it.
    """
    by_line, by_statement = document.layer in BY_LINE, document.layer is Layer.TOPIC
    pieces = list(_pieces(document.body, has_comments=by_statement))
    if by_line or by_statement:  # a heading is said by the context of what stands below it; alone it is no statement
        pieces = [replace(piece, hidden=piece.hidden or piece.heading is not None) for piece in pieces]
    groups = _group(pieces, 0 if by_line else TARGET_CHARS, by_statement=by_statement)
    return tuple(_chunk(document, ordinal, group) for ordinal, group in enumerate(groups))


def split_lines(text: str) -> list[str]:
    """The lines of a text with their ends, broken where editors and `path:line` break them and nowhere else."""
    lines, start = [], 0
    for match in LINE_BREAK.finditer(text):
        lines.append(text[start : match.end()])
        start = match.end()
    if start < len(text):
        lines.append(text[start:])
    return lines


def _pieces(body: str, *, has_comments: bool) -> Iterator[_Piece]:
    """The body as pieces that follow one another without a gap, none longer than MAX_CHARS."""
    lines = split_lines(body)
    blocks = MARKDOWN.parse(body)
    code = _find_lines(blocks, *CODE)
    hidden = _hidden_lines(lines, _find_lines(blocks, "fence"), code, _find_lines(blocks, "hr"))
    comments = _comment_lines(lines, code) if has_comments else frozenset()
    hidden = [one or number in comments for number, one in enumerate(hidden)]
    starts, headings, opening = _block_starts(blocks)
    first = 0
    for after in range(1, len(lines) + 1):
        if after < len(lines) and after not in starts and hidden[after] == hidden[first]:
            continue
        block = lines[first:after]
        yield from _cut_block(block, _Piece("", first, hidden[first], headings.get(first), first in opening))
        first = after


def without_comments(text: str) -> str:
    """A text without what is between `<!--` and `-->` or between two `%%`, which its author keeps from readers."""
    return COMMENT.sub(lambda found: found["code"] or "", text)


def _comment_lines(lines: Sequence[str], code: frozenset[int]) -> frozenset[int]:
    """The lines, from 0, that hold a comment and nothing beside it, also one over several paragraphs."""
    text = "\n".join("" if number in code else line.rstrip("\r\n") for number, line in enumerate(lines))
    found: set[int] = set()
    for match in COMMENT.finditer(text):
        begin, end = text.rfind("\n", 0, match.start()) + 1, (text + "\n").index("\n", match.end())
        if not match["code"] and text[begin:end].strip() == match[0]:
            found.update(range(text.count("\n", 0, begin), text.count("\n", 0, end) + 1))
    return frozenset(found)


def code_lines(body: str) -> frozenset[int]:
    """The lines of a body, from 0, that stand in code blocks, their fences included."""
    return _find_lines(MARKDOWN.parse(body), *CODE)


def _find_lines(blocks: Sequence[Token], *kinds: str) -> frozenset[int]:
    """The lines, from 0, that blocks of these kinds take up."""
    return frozenset(
        line for block in blocks if block.type in kinds and block.map is not None for line in range(*block.map)
    )


def _block_starts(blocks: Sequence[Token]) -> tuple[set[int], dict[int, tuple[int, str]], set[int]]:
    """The lines, from 0, on which a paragraph, list item, table row, code block or heading starts; the headings; and
    the lines on which a statement begins.
    """
    starts: set[int] = set()
    headings: dict[int, tuple[int, str]] = {}
    opening: set[int] = set()
    for place, token in enumerate(blocks):
        if token.map is None or token.nesting < 0 or token.type in ("inline", "bullet_list_open", "ordered_list_open"):
            continue
        starts.add(token.map[0])
        if token.level == OPENING.get(token.type):
            opening.add(token.map[0])
        if token.type == "heading_open" and token.level == 0:
            headings[token.map[0]] = (int(token.tag[1]), blocks[place + 1].content.strip())
            starts.add(token.map[1])
    return starts, headings, opening


def _hidden_lines(
    lines: Sequence[str], fenced: frozenset[int], code: frozenset[int], rules: frozenset[int]
) -> list[bool]:
    """For each line whether it is kept from embedding and indices: footnote definitions, a rule that nothing but them
    follows, generated pointers, and what a page says when it is founded.

    `code` holds indented blocks beside the fenced ones; the indented lines of a footnote look like such a block.
    """
    hidden = []
    footnote = pointers = False
    for number, line in enumerate(lines):
        mark = line.strip() if number not in code else ""
        pointers = pointers or mark == POINTERS_BEGIN
        defines = bool(FOOTNOTE_DEFINITION.match(line))
        footnote = number not in fenced and (defines or (footnote and _is_continuation(line)))
        hidden.append(footnote or pointers or mark in FOUNDING_LINES)
        pointers = pointers and mark != POINTERS_END
    shown = [number for number, line in enumerate(lines) if line.strip() and not hidden[number]]
    if shown and shown[-1] in rules and any(hidden[shown[-1] :]):
        hidden[shown[-1]] = True
    return hidden


def _is_continuation(line: str) -> bool:
    """Whether a line belongs to the footnote definition above it: it is indented or blank."""
    return not line.strip() or line.startswith(("    ", "\t"))


def _cut_block(lines: Sequence[str], whole: _Piece) -> Iterator[_Piece]:
    """One block, in several pieces where it is too long: between lines if possible, else inside its longest line.

    `whole` says where it begins and what it is; the pieces behind the first are no heading.
    """
    held: list[str] = []
    start = whole.first
    for number, line in enumerate(lines, start=whole.first):
        if held and sum(map(len, held)) + len(line) > MAX_CHARS:
            yield replace(whole, text="".join(held), first=start)
            held, start, whole = [], number, replace(whole, heading=None)
        if len(line) > MAX_CHARS:
            *parts, rest = _cut_line(line)
            for part in parts:
                yield replace(whole, text=part, first=number)
                whole = replace(whole, heading=None)
            held, start = [rest], number
        else:
            held.append(line)
    if held:
        yield replace(whole, text="".join(held), first=start)


def _cut_line(line: str) -> list[str]:
    """A very long line in parts of at most MAX_CHARS, cut behind a sentence or word where there is one."""
    parts = []
    while len(line) > MAX_CHARS:
        window = line[:MAX_CHARS]
        ends = [match.end() for match in PASSAGE_END.finditer(window)] or [
            match.end() for match in re.finditer(r"\s+", window)
        ]
        late = [end for end in ends if end > MAX_CHARS // 3]
        at = late[-1] if late else MAX_CHARS
        parts.append(line[:at])
        line = line[at:]
    return [*parts, line]


def _group(pieces: Sequence[_Piece], target: int, *, by_statement: bool = False) -> Iterator[_Group]:
    """Fills chunks up to `target` characters, a new one at every heading; with target 0 every piece is its own.

    `by_statement`: a new one wherever a statement begins, too.
    """
    trail: list[tuple[int, str]] = []
    group = _Group(())
    for piece in pieces:
        if piece.heading:
            trail = [*(above for above in trail if above[0] < piece.heading[0]), piece.heading]
        headings = tuple(text for _, text in trail)
        fits = group.size + len(piece.text) <= max(target, 1) or (target and _are_headings(group.pieces))
        blank = not piece.text.strip()
        opens = by_statement and piece.opens and not piece.hidden
        begins = piece.heading or (opens and not _are_headings(group.pieces))
        if group.pieces and not blank and (begins or not fits or _is_full_line(group, target)):
            if piece.heading and _are_headings(group.pieces) and target:
                group.headings = headings
            else:
                yield group
                group = _Group(headings)
        if not group.pieces:
            group.headings = headings
        group.pieces.append(piece)
    if group.pieces:
        yield group


def _are_headings(pieces: Sequence[_Piece]) -> bool:
    """Whether pieces are nothing but headings, which are no passage without what they head."""
    size = sum(len(piece.text) for piece in pieces)
    return size <= HEADING_CHARS and all(piece.heading or not piece.text.strip() for piece in pieces)


def _find_line_range(pieces: Sequence[_Piece], body_line: int) -> LineRange:
    """The lines of some pieces, without the blank ones around them; `body_line` is that of the body's first."""
    every = [(body_line + piece.first + n, line) for piece in pieces for n, line in enumerate(split_lines(piece.text))]
    written = [number for number, line in every if line.strip()] or [number for number, _ in every]
    return LineRange(written[0], written[-1])


def _is_full_line(group: _Group, target: int) -> bool:
    return not target and any(piece.text.strip() for piece in group.pieces)


def _chunk(document: Document, ordinal: int, group: _Group) -> Chunk:
    text = "".join(piece.text for piece in group.pieces)
    shown = [piece for piece in group.pieces if not piece.hidden]
    searchable = "" if _are_headings(shown) else "".join(piece.text for piece in shown).strip()
    if document.layer is Layer.TOPIC:
        searchable = without_comments(FOOTNOTE_REFERENCE.sub("", searchable)).strip()
    if document.layer in BY_LINE or document.layer is Layer.TOPIC:
        searchable = LIST_MARK.sub("", searchable)
    lines = _find_line_range(shown if searchable else group.pieces, document.body_line)
    identity = hashlib.sha256(f"{document.path}\0{lines}\0{ordinal}\0{text}".encode())
    return Chunk(
        id=ChunkId(identity.hexdigest()[:24]),
        path=document.path,
        ordinal=ordinal,
        text=text,
        searchable=searchable,
        headings=group.headings,
        lines=lines,
    )
