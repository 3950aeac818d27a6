"""Checks what a model wrote about a session before it may stand in a memory.

A statement must name entries of the session, and every identifier in it must occur there letter by letter. Half of what
a digest owes (`duties.py`) must be in it, and the rest is added as the rules put it. Anything else is refused with a
sentence that the model can act on.
"""

import json
import re
from collections.abc import Sequence

from crawler.compress.candidates import DigestCandidate, SectionName
from crawler.compress.duties import completed, left_out
from crawler.facts import arguments_of
from crawler.transcripts.turns import Turn
from memory_server.layers.sessions import Section, Statement

IDENTIFIER = re.compile(
    r"(?:[\w.@~-]*/){1,}[\w.@-]+|\b\d{1,3}(?:\.\d{1,3}){3}\b|\bv?\d+\.\d+(?:\.\d+)+\b|\b[0-9a-f]{7,40}\b(?=.*\d)"
    r"|\b[A-Z]{2,}[_-]?\d{2,}\b|`[^`]+`|\b\w+\.(?:py|ts|js|tsx|go|rs|md|json|yml|yaml|toml|sh|sql)\b"
)
MAX_LINE_CHARS = 400
SIZE_SLACK = 1.25  # how far a digest may go beyond what was asked


class RejectedDigest(Exception):  # a verdict between model and compressor, never shown as an error
    """A digest that is not to be kept; the message says why, in words for the model."""


def validated(
    answer: str, turns: Sequence[Turn], *, max_chars: int, duties: Sequence[DigestCandidate] = ()
) -> tuple[str, tuple[Section, ...]]:
    """Title and sections of an answer, with all duties. Raises RejectedDigest for the first thing wrong with it."""
    value = _object_in(answer)
    title, sections = value.get("title"), value.get("sections")
    if not isinstance(title, str) or not title.strip() or not isinstance(sections, dict):
        raise RejectedDigest("the object needs a title and sections")
    known = {entry[:8]: entry for turn in turns for entry in turn.entries}
    text = "\n".join([*map(words_of_turn, turns), *(duty.text for duty in duties)])
    found = [Section(str(name), tuple(_statements(sections.get(name), known, text))) for name in SectionName]
    kept = tuple(section for section in found if section.statements)
    if not kept:
        raise RejectedDigest("there is not one statement in a known section")
    size = sum(len(statement.line) for section in kept for statement in section.statements)
    if size > max_chars * SIZE_SLACK:
        raise RejectedDigest(f"it has {size} characters where {max_chars} were allowed")
    _check_identifiers(title, text)
    missing = left_out(duties, kept)
    if 2 * len(missing) > len(duties):
        raise RejectedDigest(f"it leaves out {len(missing)} of {len(duties)} duties, first `{missing[0].text[:60]}`")
    return " ".join(title.split())[:90], completed(kept, missing)


def words_of_turn(turn: Turn) -> str:
    """What a turn says and what its call was given, as JSON and as the texts that it writes."""
    return "\n".join([turn.text, turn.arguments, *map(str, arguments_of(turn).values())])


def _object_in(answer: str) -> dict[str, object]:
    start, end = answer.find("{"), answer.rfind("}")
    try:
        value = json.loads(answer[start : end + 1])
    except ValueError:
        raise RejectedDigest("the answer is no JSON object") from None
    if not isinstance(value, dict):
        raise RejectedDigest("the answer is no JSON object")
    return value


def _statements(items: object, known: dict[str, str], text: str) -> list[Statement]:
    statements = []
    for item in items if isinstance(items, list) else []:
        if (
            not isinstance(item, dict)
            or not isinstance(item.get("text"), str)
            or not isinstance(item.get("entries"), list)
        ):
            raise RejectedDigest("a statement needs text and entries")
        entries = [str(entry)[:8] for entry in item["entries"]]
        unknown = [entry for entry in entries if entry not in known]
        if unknown or not entries:
            raise RejectedDigest(
                f"`{item['text'][:60]}` names no entry of this session: {', '.join(unknown) or 'none given'}"
            )
        line = " ".join(item["text"].split())
        if not line or len(line) > MAX_LINE_CHARS:
            raise RejectedDigest(f"a statement has {len(line)} characters; 1 to {MAX_LINE_CHARS} are allowed")
        _check_identifiers(line, text)
        statements.append(Statement(line, tuple(entries)))
    return statements


def _check_identifiers(line: str, text: str) -> None:
    for match in IDENTIFIER.finditer(line):
        identifier = match[0].strip("`").rstrip(".,…")
        if identifier not in text:
            raise RejectedDigest(f"`{identifier}` does not occur in the session")
