"""Whose words stand behind a line of a topic: from the footnote on the line to the archived turn.

The approvals know the exact characters. Where they were lost the footnote itself still names session and entry.
"""

import datetime as dt
import re
from dataclasses import dataclass

from crawler.archive.store import Archive
from dream.proposals.store import Approval, Event, ProposalStore
from dream.records import Quote
from memory_server.chunking import FOOTNOTE_DEFINITION, split_lines
from memory_server.errors import ContentError, UsageError
from memory_server.layers.footnotes import REFERENCE, find_footnotes, without_code_spans

SOURCE = re.compile(r"(?P<role>person|assistant) in session (?P<session>[^\s,]+), entry (?P<entry>[^\s,;]+)")


@dataclass(frozen=True, slots=True)
class Source:
    """One quote behind a line, and whether the archive still has it."""

    session_id: str
    entry: str
    role: str
    time: dt.datetime | None
    text: str  # as archived; empty where it is gone
    is_whole: bool  # the very characters, rather than the whole turn that the footnote names


@dataclass(frozen=True, slots=True)
class Blame:
    """What stands behind one line."""

    label: str  # of the footnote
    hunk: str  # empty where the approvals do not know it
    approved: dt.datetime | None
    sources: tuple[Source, ...]


def blame(text: str, line: int, store: ProposalStore, archive: Archive) -> list[Blame]:
    """What stands behind a line of a topic, counted from 1. Raises UsageError where there is no such line."""
    lines = split_lines(text)
    if not 1 <= line <= len(lines):
        raise UsageError(f"line {line} was asked for, the file has {len(lines)}", remedy="Name a line that exists")
    notes = find_footnotes(text)
    approvals = {one.label: one for one in store.approvals() if one.event is Event.ACCEPTED and one.label}
    return [
        _blamed(label, lines[notes.defined[label][0]] if label in notes.defined else "", approvals.get(label), archive)
        for label in labels_at(lines, line)
    ]


def labels_at(lines: list[str], line: int) -> list[str]:
    """The footnotes of the statement on a line: its own, else those further down in its paragraph or item."""
    for number in range(line - 1, len(lines)):
        if not lines[number].strip():
            break
        definition = FOOTNOTE_DEFINITION.match(lines[number])
        found = REFERENCE.findall(without_code_spans(lines[number]))
        if definition:
            return [definition[0].strip()[2:-2]] if number == line - 1 else []
        if found:
            return list(dict.fromkeys(found))
    return []


def _blamed(label: str, definition: str, approval: Approval | None, archive: Archive) -> Blame:
    if approval is not None and approval.quotes:
        sources = tuple(_of_quote(quote, archive) for quote in approval.quotes)
        return Blame(label, approval.hunk, approval.at, sources)
    return Blame(label, "", None, tuple(_of_footnote(found, archive) for found in SOURCE.finditer(definition)))


def _of_quote(quote: Quote, archive: Archive) -> Source:
    text = archived_quote(quote, archive)
    return Source(quote.session_id, quote.entry, str(quote.role), quote.time, text or "", is_whole=text is not None)


def _of_footnote(found: re.Match[str], archive: Archive) -> Source:
    text, time = "", None
    try:
        for turn in archive.turns(found["session"]):
            if found["entry"] in turn.entries:
                text, time = turn.text, turn.time
                break
    except ContentError:
        pass  # gone from the archive: the footnote is all there is
    return Source(found["session"], found["entry"], found["role"], time, text, is_whole=False)


def archived_quote(quote: Quote, archive: Archive) -> str | None:
    """The words of a quote as the archive has them; None where these very characters are not there any more."""
    try:
        for turn in archive.turns(quote.session_id):
            if quote.entry in turn.entries and str(turn.role) == str(quote.role):
                words = turn.text[quote.first : quote.end]
                if words == quote.text:
                    return words
    except ContentError:
        return None
    return None
