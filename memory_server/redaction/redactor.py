"""The door: a text, or nested JSON, without its secrets.

A secret is known by the shape that services give their tokens (`services.py`), by the command or address around it
(`contexts.py`), or by the name beside it (`assignments.py`). What merely looks random stays: hashes, UUIDs, paths,
versions and addresses are what people search for. Every pattern takes time in proportion to the text.

Redacting twice gives the same text as redacting once. The caller decides what to redact; this room knows text and
nested JSON only.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from memory_server.errors import UsageError
from memory_server.redaction import assignments, contexts, hidden
from memory_server.redaction.assignments import find_promise
from memory_server.redaction.services import shapes, vendor_tokens
from memory_server.redaction.values import Span

MASK = re.compile(r"\[redacted:[a-z0-9-]+\]")
SHORTEST = 8  # characters; nothing shorter holds a name and a secret, or a token
JWK_NAMES = frozenset(("d", "p", "q", "dp", "dq", "qi", "k"))


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
        *hidden.without_marks(data, _visible),
        *hidden.find_escaped(data, _visible),
        *hidden.find_wrapped(data),
        *hidden.find_encoded(data, _visible),
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
