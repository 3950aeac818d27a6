"""A hunk as a person sees it on a terminal: escaped, set in, and with a warning where it speaks like an instruction."""

import re
from collections.abc import Iterator

from dream.proposals.desk import unified
from dream.proposals.hunk import Hunk
from memory_server.escaping import HIDDEN, shown, shown_line
from memory_server.layers.sessions import id8_of

QUOTE_CHARS = 700
OURS = ("diff --git", "new file mode", "@@")
INSTRUCTING = re.compile(
    r"\b(?:ignore|disregard|forget) (?:all |any |the |your )*(?:previous|prior|above|earlier|other) \w+"
    r"|\byou (?:are|must|should|will) (?:now|always|never)\b|\bsystem prompt\b|\bas an ai\b"
    r"|<\/?(?:system|instructions?|system-reminder)\b"
    r"|\bdo not (?:tell|mention|reveal|ask)\b.{0,40}\b(?:user|person|human)\b",
    re.IGNORECASE,
)


def hunk_lines(hunk: Hunk, before: str | None, after: str | None) -> Iterator[str]:
    """What a reviewer needs: whose words, how sure, what changes, and how to read on."""
    candidate, place = hunk.update.candidate, hunk.update.place
    yield f"{shown_line(hunk.target)}  {candidate.kind}, {hunk.update.relation}, confidence {candidate.confidence:.2f}"
    for quote in hunk.quotes:
        when = quote.time.strftime("%Y-%m-%d %H:%M") if quote.time else "undated"
        yield f"  {quote.role} said, {when}, session {id8_of(quote.session_id)}, entry {shown_line(quote.entry)[:8]}:"
        yield from (f"    > {line}" for line in shown(_cut(quote.text)).split("\n"))
    yield f"  why: {shown_line(candidate.why)}; {shown_line(hunk.update.why)} ({shown_line(candidate.extractor)})"
    for warning in warnings_about(hunk):
        yield f"  CAREFUL: {warning}"
    if place.replaces is not None:
        yield f"  replaces lines {place.replaces} of {shown_line(hunk.target)}"
    if after is None:
        yield "  It fits its topic no longer; `oneiros dream` retires it."
        return
    yield from (f"  {line}" for line in _telling(shown(unified(hunk.target, before, after)).split("\n")))


def _telling(diff: list[str]) -> Iterator[str]:
    """The lines of a diff that a reviewer reads: not the frontmatter of a new file, nor the footnotes around ours."""
    is_head = False
    for line in diff:
        if line == "+---":
            is_head = not is_head
        elif line and not is_head and not line.startswith((*OURS, " [^")):
            yield line


def hunk_json(hunk: Hunk) -> dict[str, object]:
    """A hunk for programs and pages; what cannot be seen is written out."""
    candidate, place = hunk.update.candidate, hunk.update.place
    return {
        "id": hunk.id,
        "proposal": hunk.proposal,
        "state": hunk.state.value,
        "target": hunk.target,
        "kind": candidate.kind.value,
        "relation": hunk.update.relation.value,
        "text": shown(hunk.text),
        "confidence": candidate.confidence,
        "why": [candidate.why, hunk.update.why],
        "extractor": candidate.extractor,
        "replaces": shown(place.old_text),
        "reason": hunk.reason,
        "warnings": list(warnings_about(hunk)),
        "quotes": [
            {
                "session": quote.session_id,
                "entry": quote.entry,
                "role": quote.role.value,
                "time": quote.time.isoformat() if quote.time else None,
                "first": quote.first,
                "end": quote.end,
                "text": shown(quote.text),
            }
            for quote in hunk.quotes
        ],
    }


def warnings_about(hunk: Hunk) -> Iterator[str]:
    """What a reviewer should look at twice."""
    texts = [hunk.text, *(quote.text for quote in hunk.quotes)]
    if any(INSTRUCTING.search(text) for text in texts):
        yield "it reads like an instruction to an assistant"
    if any(HIDDEN.search(text.replace("\r\n", "\n")) for text in texts):
        yield "it holds characters that no screen shows; they are written out"


def _cut(text: str) -> str:
    return text if len(text) <= QUOTE_CHARS else f"{text[:QUOTE_CHARS]}… ({len(text) - QUOTE_CHARS} characters more)"
