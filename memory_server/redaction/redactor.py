"""The door: a text, or nested JSON, without its secrets.

A secret is known by the shape that services give their tokens (`services.py`), by the command or address around it
(`contexts.py`), or by the name beside it (`assignments.py`). What merely looks random stays: hashes, UUIDs, paths,
versions and addresses are what people search for. Every pattern takes time in proportion to the text.

Secrets are also found that something stands in the middle of, or that are encoded. Terminals colour tokens and wrap
them, chats and editors put invisible marks into them, addresses and JSON escape their characters, and Kubernetes holds
them in base64. Each is looked for in the text as it was meant, and masked where it stands.

Redacting twice gives the same text as redacting once. The caller decides what to redact; this room knows text and
nested JSON only.
"""

import base64
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from memory_server.errors import UsageError
from memory_server.redaction import assignments, contexts
from memory_server.redaction.assignments import find_promise
from memory_server.redaction.services import EDGE, shapes, vendor_tokens
from memory_server.redaction.values import TURN, Span, pattern

MASK = re.compile(r"\[redacted:[a-z0-9-]+\]")
SHORTEST = 8  # characters; nothing shorter holds a name and a secret, or a token
JWK_NAMES = frozenset(("d", "p", "q", "dp", "dq", "qi", "k"))

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


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets, and where they stood."""

    text: str
    spans: tuple[Span, ...]


class Redactor:
    """Masks every secret it knows, and what the person denies by name.

    `deny` holds words to mask wherever they occur, whatever their case; one that starts with `re:` is a pattern.
    Raises UsageError for a pattern that cannot be compiled.
    """

    def __init__(self, deny: Sequence[str] = ()):
        self._deny = tuple(_compile_denied(word) for word in deny if word.strip())

    def redact(self, text: str) -> Redacted:
        """The text with each secret replaced by `[redacted:KIND]`."""
        denied = [Span(*match.span(), "denied") for deny in self._deny for match in deny.finditer(text) if match[0]]
        found = _find_secrets(text) if len(text) >= SHORTEST else []
        if not denied and not found:
            return Redacted(text, ())
        spans = _without_overlap([*denied, *found], text)
        pieces = []
        position = 0
        for span in spans:
            pieces += [text[position : span.start], f"[redacted:{span.kind}]"]
            position = span.end
        return Redacted("".join([*pieces, text[position:]]), tuple(spans))

    def redact_json(self, value: Any) -> Any:
        """The same JSON value with every string redacted: keys too, and a value also by the name it stands under."""
        if isinstance(value, str):
            return self.redact(value).text
        if isinstance(value, dict):
            return {
                self.redact(str(key)).text: self._under_name(_find_name(key, value), item)
                for key, item in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.redact_json(item) for item in value]
        return value

    def _under_name(self, name: str, value: Any) -> Any:
        if isinstance(value, list):
            return [self._under_name(name, item) for item in value]
        if not isinstance(value, str):
            return self.redact_json(value)
        promise = find_promise(name[-assignments.LONGEST_NAME :])
        readable = value.encode(errors="replace").decode()  # half a character, as JSON may hold one, is no secret's
        if promise and assignments.is_secret_value(promise, readable, is_quoted=True, is_weak=False):
            return "[redacted:secret]"
        return self.redact(value).text


def redact(text: str) -> str:
    """The text without its secrets, where no person's own deny-list applies."""
    return Redactor().redact(text).text


def _find_name(key: Any, pairs: dict[Any, Any]) -> str:
    """The name that a value stands under: in `{"name": "API_KEY", "value": ...}` what stands beside it."""
    if key == "value":
        return str(pairs.get("name", pairs.get("key", key)))
    return "private_key" if "kty" in pairs and key in JWK_NAMES else str(key)


def _compile_denied(word: str) -> re.Pattern[str]:
    if not word.startswith("re:"):
        return re.compile(re.escape(word.strip()), re.IGNORECASE)
    try:
        return re.compile(word.removeprefix("re:"))
    except re.error as error:
        raise UsageError(
            f"the deny pattern `{word}` cannot be compiled: {error}", remedy="Mend it in the settings"
        ) from error


def _find_secrets(text: str) -> list[Span]:
    """Every secret, in characters."""
    data = _without_mask_names(text.encode(errors="surrogatepass"))
    spans = [
        *_visible(data),
        *_find_marked(data),
        *_find_escaped(data),
        *_find_wrapped(data),
        *_find_encoded(data),
    ]
    return spans if text.isascii() else _in_characters(data, spans)


def _visible(data: bytes) -> Iterator[Span]:
    yield from shapes().find(data)
    yield from vendor_tokens(data)
    yield from contexts.contexts().find(data)
    yield from assignments.find(data)


def _in_characters(data: bytes, spans: Iterable[Span]) -> list[Span]:
    """The spans counted in characters rather than in bytes of UTF-8."""
    at = position = 0
    characters = {}
    for byte in sorted({place for span in spans for place in (span.start, span.end)}):
        position += len(data[at:byte].decode(errors="surrogatepass"))
        at = byte
        characters[byte] = position
    return [Span(characters[span.start], characters[span.end], span.kind) for span in spans]


def _without_mask_names(data: bytes) -> bytes:
    """The text with what its masks say blotted out, every byte in its place.

    A mask names a kind of secret, and what stands behind such a name would be taken for its value.
    """
    if b"[redacted:" not in data:
        return data
    return re.sub(rb"\[redacted:[a-z0-9-]+\]", lambda mask: b"[" + b"." * (len(mask[0]) - 2) + b"]", data)


def _without_overlap(spans: Iterable[Span], text: str) -> list[Span]:
    """The spans in order, the longest of those that overlap; what is masked already stays as it is."""
    masks = [match.span() for match in MASK.finditer(text)] if "[redacted:" in text else []
    ends = [end for _, end in masks]
    chosen: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        nearest = bisect_right(ends, span.start)
        if nearest < len(masks) and masks[nearest][0] < span.end:
            continue
        if chosen and span.start < chosen[-1].end:
            if span.end > chosen[-1].end:
                chosen[-1] = Span(chosen[-1].start, span.end, chosen[-1].kind)
            continue
        chosen.append(span)
    return chosen


# -- what is hidden ------------------------------------------------------------------------------------------------


def _nothing(_: Any) -> bytes:
    """How what is taken out is read."""
    return b""


def _find_marked(data: bytes) -> Iterator[Span]:
    """What shows in the lines with colours or invisible characters once those are taken out."""
    return _in_lines(data, MARKS, _nothing)


def _find_escaped(data: bytes) -> Iterator[Span]:
    """What shows in the lines with escaped characters (`%5F`, `\\x5f`, `\\u005f`) once those stand as themselves."""
    return _in_lines(data, ESCAPED, lambda match: bytes.fromhex(match[1].decode()))


def _find_wrapped(data: bytes) -> Iterator[Span]:
    """Tokens that go on in the next line."""
    for match in WRAPPED.finditer(data):
        start = match.start(1)
        for span in _in_pieces(match[1], BREAKS, _tokens, _nothing):
            yield Span(start + span.start, start + span.end, span.kind)


def _find_encoded(data: bytes) -> Iterator[Span]:
    """Base64 of a text that holds a secret."""
    for match in ASCII_IN_BASE64.finditer(data):
        text = match[1].rstrip(b"=")
        if any(_visible(base64.b64decode(text[: len(text) // 4 * 4]))):
            yield Span(match.start(1), match.end(1), "base64")


def _tokens(data: bytes) -> Iterator[Span]:
    yield from shapes().find(data)
    yield from vendor_tokens(data, must_say_so=True)


def _in_lines(data: bytes, cut: Any, read: Reader) -> Iterator[Span]:
    """What is found in the lines that hold a cut."""
    end = 0
    for match in cut.finditer(data):
        if match.start() < end:
            continue
        start = max(end, data.rfind(b"\n", max(0, match.start() - REACH), match.start()) + 1, match.start() - REACH)
        end = data.find(b"\n", match.end())
        end = len(data) if end < 0 else end
        for span in _in_pieces(data[start:end], cut, _visible, read):
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
