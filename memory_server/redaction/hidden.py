"""Secrets that something stands in the middle of, or that are encoded.

Terminals colour tokens and wrap them, chats and editors put invisible marks into them, addresses and JSON escape their
characters, and Kubernetes holds them in base64. Each is looked for in the text as it was meant, and masked where it
stands.
"""

import base64
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from memory_server.redaction.services import EDGE, shapes, vendor_tokens
from memory_server.redaction.values import TURN, Span, pattern

Finder = Callable[[bytes], Iterable[Span]]
Reader = Callable[[Any], bytes]  # what a match is read as

REACH = 2_000  # bytes before a mark in which a token may begin
ESCAPE = r"(?:\x1b|\\u001[bB]|\\x1[bB]|\\033|\\e)"
MARKS = pattern(
    rf"(?:{ESCAPE}\[|\x{{9b}})[0-9;?]*[A-Za-z]|{ESCAPE}[()][0-9A-Z]|{ESCAPE}\][^\x07\x1b]{{0,200}}(?:\x07|\x1b\\)"
    r"|\\u(?:00[aA][dD]|034[fF]|180[b-fB-F]|20(?:0[b-fB-F]|2[a-eA-E]|6[0-9a-fA-F])|[fF][eE](?:0[0-9a-fA-F]|[fF][fF]))"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x{9f}\x{ad}\x{34f}\x{61c}\x{115f}\x{1160}\x{17b4}\x{17b5}"
    r"\x{180b}-\x{180f}\x{200b}-\x{200f}\x{202a}-\x{202e}\x{2060}-\x{206f}\x{3164}\x{fe00}-\x{fe0f}\x{feff}"
    r"\x{ffa0}\x{fff9}-\x{fffb}\x{1d173}-\x{1d17a}\x{e0000}-\x{e0fff}]"  # as memory_server/escaping.py, and U+FE0F
)
ESCAPED = pattern(r"(?:%|\\+(?:x|u00))([2-7][0-9A-Fa-f])")  # a character of ASCII that shows
BREAK = r"(?:\\?\r?\n|\\n)[ \t>+|]*"
BREAKS = pattern(BREAK)
WRAPPED = pattern(rf"{EDGE}([\w.+/=-]*{TURN}[\w.+/=-]*(?:{BREAK}[\w.+/=-]*{TURN}[\w.+/=-]*){{1,4}})")
# Base64 of ASCII: the bits that ASCII leaves empty are empty, which random characters manage once in 2**18.
ASCII_IN_BASE64 = pattern(
    EDGE + "((?:[CI-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/]){6,}[A-Za-z0-9+/]{0,3}={0,2})"
)


def _nothing(_: Any) -> bytes:
    """How what is taken out is read."""
    return b""


def without_marks(data: bytes, find: Finder) -> Iterator[Span]:
    """What shows in the lines with colours or invisible characters once those are taken out."""
    return _in_lines(data, MARKS, find, _nothing)


def find_escaped(data: bytes, find: Finder) -> Iterator[Span]:
    """What shows in the lines with escaped characters (`%5F`, `\\x5f`, `\\u005f`) once those stand as themselves."""
    return _in_lines(data, ESCAPED, find, lambda match: bytes.fromhex(match[1].decode()))


def find_wrapped(data: bytes) -> Iterator[Span]:
    """Tokens that go on in the next line."""
    for match in WRAPPED.finditer(data):
        start = match.start(1)
        for span in _in_pieces(match[1], BREAKS, _tokens, _nothing):
            yield Span(start + span.start, start + span.end, span.kind)


def find_encoded(data: bytes, find: Finder) -> Iterator[Span]:
    """Base64 of a text that holds a secret."""
    for match in ASCII_IN_BASE64.finditer(data):
        text = match[1].rstrip(b"=")
        if any(find(base64.b64decode(text[: len(text) // 4 * 4]))):
            yield Span(match.start(1), match.end(1), "base64")


def _tokens(data: bytes) -> Iterator[Span]:
    yield from shapes().find(data)
    yield from vendor_tokens(data, must_say_so=True)


def _in_lines(data: bytes, cut: Any, find: Finder, read: Reader) -> Iterator[Span]:
    """What is found in the lines that hold a cut."""
    end = 0
    for match in cut.finditer(data):
        if match.start() < end:
            continue
        start = max(end, data.rfind(b"\n", max(0, match.start() - REACH), match.start()) + 1, match.start() - REACH)
        end = data.find(b"\n", match.end())
        end = len(data) if end < 0 else end
        for span in _in_pieces(data[start:end], cut, find, read):
            yield Span(start + span.start, start + span.end, span.kind)


def _in_pieces(data: bytes, cut: Any, find: Finder, read: Reader) -> Iterator[Span]:
    """What is found once each cut is read as nothing, or as a byte in the place of its last; where it stands here."""
    pieces, joined_at, moved_by = [], [0], [0]
    position = joined = 0
    shown = b""
    for match in cut.finditer(data):
        pieces += [shown, data[position + len(shown) : match.start()]]
        joined += match.start() - position
        shown = read(match)
        position = match.end() - len(shown)
        joined_at.append(joined)
        moved_by.append(position - joined)
    pieces += [shown, data[position + len(shown) :]]
    for start, end, kind in find(b"".join(pieces)):
        first = start + moved_by[bisect_right(joined_at, start) - 1]
        last = end - 1 + moved_by[bisect_right(joined_at, end - 1) - 1]
        yield Span(first, last + 1, kind)
