"""A hunk as a person sees it on a terminal: escaped, set in, and with a warning where it speaks like an instruction."""

import re
from collections.abc import Iterator, Sequence

from dream.proposals.desk import unified
from dream.proposals.placing import provenance_of
from dream.proposals.store import Approval
from dream.records import Hunk
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


SUBJECT_CHARS = 64


def accepting(hunk: Hunk, approval: Approval, is_own: bool) -> str:
    """The message for an accepted hunk."""
    candidate = hunk.update.candidate
    lines = [f"Take up {candidate.kind} {hunk.id} in {hunk.target}", ""]
    if is_own:
        lines += [_shortened(shown_line(hunk.text)), ""]
    lines += [f"{hunk.update.relation}, suggested by {shown_line(candidate.extractor)}.", *_evidence(hunk)]
    return _message(lines, approval)


def reverting(hunk: Hunk, approval: Approval) -> str:
    """The message for a hunk that was taken out again."""
    return _message([f"Take {hunk.id} out of {hunk.target} again", "", *_evidence(hunk)], approval)


def adopting(paths: Sequence[str], approval: Approval) -> str:
    """The message for changes made elsewhere that a person answers for."""
    subject = f"Adopt the change of {paths[0]}" if len(paths) == 1 else f"Adopt the changes of {len(paths)} files"
    return _message([subject, "", *paths], approval)


def _evidence(hunk: Hunk) -> list[str]:
    return [f"Evidence: {provenance_of(hunk)}."]


def _message(lines: Sequence[str], approval: Approval) -> str:
    return "\n".join([*lines, "", f"Oneiros-approval: {approval.nonce}", ""])


def _shortened(text: str) -> str:
    return text if len(text) <= 4 * SUBJECT_CHARS else f"{text[: 4 * SUBJECT_CHARS - 1]}…"
