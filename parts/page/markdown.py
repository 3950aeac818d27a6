"""A topic as HTML: rendered block by block, so that what stands behind its lines can stand beside them.

The text is somebody's: no HTML in it counts, what is made of it is cleaned, and a link leads to a topic, to the outer
world in a tab of its own, or is marked as dead. Nothing is loaded.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote, unquote

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from memory_server.chunking import FOOTNOTE_DEFINITION, code_lines, split_lines
from memory_server.escaping import escape_text
from memory_server.layers.footnotes import REFERENCE, without_code_spans

MAX_CHARS, MAX_LINE_CHARS = 300_000, 20_000  # beyond, a text is shown as it is written
TAGS = set(
    "p h1 h2 h3 h4 h5 h6 ul ol li blockquote pre code em strong s a hr br table thead tbody tr th td sup".split()
)
ATTRIBUTES = {"a": {"href", "class", "target"}, "ol": {"start"}}
OUTER = re.compile(r"https?://|mailto:", re.IGNORECASE)  # `http:x` is an address of this page

PARSER = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
SPOKEN = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a text."""

    html: Markup
    first: int  # of the file's lines, counted from 1
    last: int
    notes: tuple[tuple[int, str], ...]  # the footnotes that its lines refer to, each by number and label


def is_renderable(text: str) -> bool:
    """Whether a text is short enough to be rendered; a parser takes long for what nobody wrote."""
    return len(text) <= MAX_CHARS and max(map(len, text.split("\n"))) <= MAX_LINE_CHARS


def render_blocks(body: str, first_line: int, path: str, exists: Callable[[str], bool]) -> Iterator[Block]:
    """The blocks of a body that begins on a line of its file. `exists`: whether a path of the memory is there."""
    lines, fenced = split_lines(escape_text(body)), code_lines(body)
    shown = ["\n" if FOOTNOTE_DEFINITION.match(line) and at not in fenced else line for at, line in enumerate(lines)]
    tokens, plain = PARSER.parse("".join(shown)), [without_code_spans(line) for line in shown]
    found = dict.fromkeys(
        label for at, line in enumerate(plain) if at not in fenced for label in REFERENCE.findall(line)
    )
    numbers = {label: number for number, label in enumerate(found, start=1)}
    for token in tokens:
        for child in token.children or ():
            _mend(child, path, exists)
        token.children = list(_with_footnotes(token.children, numbers)) if token.children else token.children
    for group in _top_level(tokens):
        first, last = group[0].map or (0, 0)
        own = (label for line in plain[first:last] for label in REFERENCE.findall(line))
        notes = dict.fromkeys((numbers[label], label) for label in own if label in numbers)
        html = _clean(PARSER.renderer.render(group, PARSER.options, {}))
        yield Block(html, first_line + first, first_line + max(first, last - 1), tuple(notes))


def render_text(text: str) -> Markup:
    """What somebody said as HTML, its lines kept apart; as it is written where a parser would take long.

    A link leads to the outer world alone: what is meant by a path of theirs is not known here.
    """
    if not is_renderable(text):
        return Markup("<pre>{}</pre>").format(escape_text(text))
    tokens = SPOKEN.parse(escape_text(text))
    for token in tokens:
        for child in token.children or ():
            _mend(child, "", lambda _: False)
    return _clean(SPOKEN.renderer.render(tokens, SPOKEN.options, {}))


def _clean(html: str) -> Markup:
    cleaned = nh3.clean(
        html, tags=TAGS, attributes=ATTRIBUTES, url_schemes={"http", "https", "mailto"}, link_rel="noopener noreferrer"
    )
    return Markup(cleaned)  # noqa: S704  cleaned


def _top_level(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """What stands by itself: of a list each item, as a list of one."""
    group: list[Token] = []
    for token in tokens:
        group.append(token)
        if token.level == 0 and token.nesting <= 0:
            yield from _list_items(group) if token.type.endswith("_list_close") else [group]
            group = []


def _list_items(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    begin, *inner, end = tokens
    start, item = begin.attrGet("start"), list[Token]()
    number = 1 if start is None else int(start)
    for token in inner:
        item.append(token)
        if token.level == 1 and token.nesting < 0:
            attributes: dict[str, str | int | float] = {"start": number} if begin.type == "ordered_list_open" else {}
            yield [replace(begin, attrs=attributes, map=item[0].map), *item, end]
            number, item = number + 1, []


def _mend(token: Token, path: str, exists: Callable[[str], bool]) -> None:
    """Leads a link where it belongs, and makes words of an image."""
    if token.type == "image":
        token.type, token.content, token.children = "text", f"[image: {token.content}]", None
    if token.type != "link_open":
        return
    target = str(token.attrGet("href") or "")
    if OUTER.match(target):
        token.attrSet("target", "_blank")
        return
    name = unquote(target).partition("#")[0]
    whole = posixpath.normpath(posixpath.join(posixpath.dirname(path), name)) if name else path
    if whole.startswith(("..", "/")) or not exists(whole):
        token.attrs = {"class": "dead"}
    else:
        token.attrs = {"href": f"/topics/{quote(whole)}"}


def _with_footnotes(children: Sequence[Token], numbers: Mapping[str, int]) -> Iterator[Token]:
    """Inline tokens with references to footnotes as links to the notes beside the text."""
    for child in children:
        if child.type != "text" or "[^" not in child.content:
            yield child
            continue
        for place, piece in enumerate(REFERENCE.split(child.content)):
            if place % 2 and piece in numbers:
                html = Markup('<sup><a href="#note-{0}">{0}</a></sup>').format(numbers[piece])
                yield Token("html_inline", "", 0, content=str(html))
            elif piece:
                yield Token("text", "", 0, content=piece)
