"""Whose words stand behind a line of a topic: from the footnote on the line to the archived turn, or to a file; and the
other way round, what rests on which session.

The approvals know the exact characters. Where they were lost the footnote itself still names day and session. Nothing
that is cited fades or is pruned: where two layers disagree, these turns arbitrate.
"""

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from crawler.archive.store import Archive
from crawler.quotes import Quote
from crawler.transcripts.turns import Role, Turn
from dream.proposals.placing import is_list_item
from dream.proposals.store import Approval, ProposalStore, find_approvals
from dream.statements.provenance import NotedSource, read_note, read_notes
from memory_server.chunking import FOOTNOTE_DEFINITION, code_lines, split_lines
from memory_server.document import Layer
from memory_server.errors import ContentError, UsageError
from memory_server.layers.footnotes import REFERENCE, without_code_spans
from memory_server.layers.mif import parse_frontmatter
from memory_server.layers.sessions import cut_id8
from memory_server.layers.topics import find_sources, read_text
from memory_server.machine.clock import find_day_begin
from memory_server.root.paths import MemoryRoot

NO_STATEMENT = re.compile(r"\s*$| {0,3}(?:#{1,6}\s|(?:-{3,}|\*{3,}|_{3,})\s*$)")  # a heading, a rule, a blank line


@dataclass(frozen=True, slots=True)
class Source:
    """One quote or passage behind a line, and whether its words are known."""

    session_id: str  # empty, as the entry, where it is from no session
    entry: str
    role: str
    time: dt.datetime | None
    text: str  # as archived; empty where it is gone
    is_whole: bool  # the very characters, rather than the whole turn that the footnote names
    where: str  # in words


@dataclass(frozen=True, slots=True)
class Blame:
    """What stands behind one line."""

    label: str  # of the footnote
    hunk: str  # empty where the approvals do not know it
    approved: dt.datetime | None
    is_signed: bool
    sources: tuple[Source, ...]


def blame(
    text: str, line: int, store: ProposalStore, archive: Archive, is_signed: Callable[[Approval], bool]
) -> list[Blame]:
    """What stands behind a line of a topic, counted from 1. Raises as `find_labels` does."""
    noted, approvals = read_notes(text), find_approvals(text, store.approvals(), line)
    found = []
    for label in find_labels(text, line):
        approval = approvals.get(label)
        if approval is not None and (approval.quotes or approval.given):
            quoted = (_of_quote(quote, archive) for quote in approval.quotes)
            given = (
                Source("", "", str(Role.PERSON), one.time, one.text, is_whole=True, where=one.describe_place(""))
                for one in approval.given
            )
            found.append(Blame(label, approval.hunk, approval.at, is_signed(approval), (*quoted, *given)))
        else:
            named = tuple(_of_note(source, archive) for source in read_note(noted.get(label, "")))
            found.append(Blame(label, "", None, False, named))
    return found


def find_labels(text: str, line: int) -> list[str]:
    """The footnotes of the statement on a line: its own, else those further down in its paragraph or item.

    The line is counted from 1. Raises UsageError where there is no such line, and where it holds no statement.
    """
    lines, head = split_lines(text), parse_frontmatter(text)
    if not 1 <= line <= len(lines):
        raise UsageError(f"line {line} was asked for, the file has {len(lines)}", remedy="Name a line that exists")
    code = {head.body_line + number for number in code_lines(head.body)}
    if line < head.body_line or (NO_STATEMENT.match(lines[line - 1]) and line not in code):
        raise UsageError(f"line {line} holds no statement", remedy="Name the line of one")
    for number, row in enumerate(lines[line - 1 :], start=line):
        if number in code:
            continue
        if number > line and (NO_STATEMENT.match(row) or is_list_item(row)):
            break
        definition = FOOTNOTE_DEFINITION.match(row)
        found = REFERENCE.findall(without_code_spans(row))
        if definition:
            return [definition[0].strip()[2:-2]] if number == line else []
        if found:
            return list(dict.fromkeys(found))
    return []


def _of_quote(quote: Quote, archive: Archive) -> Source:
    turn = _find_turn(archive, quote.session_id, quote.entry)
    is_there = turn is not None and turn.role == quote.role and turn.text[quote.first : quote.end] == quote.text
    text = quote.text if is_there else ""
    where = f"session {quote.session_id}, entry {quote.entry}"
    return Source(quote.session_id, quote.entry, str(quote.role), quote.time, text, is_whole=is_there, where=where)


def _of_note(noted: NotedSource, archive: Archive) -> Source:
    """A source as the footnote alone names it, without the approval that wrote it."""
    time = find_day_begin(noted.day) if noted.day else None
    if noted.where:
        return Source("", "", str(noted.role), time, "", is_whole=False, where=noted.where)
    turn = _find_turn(archive, noted.session_id, noted.entry) if noted.entry else None
    where = f"session {noted.session_id}" + (f", entry {noted.entry}" if noted.entry else "")
    text, time = (turn.text, turn.time) if turn else ("", time)
    return Source(noted.session_id, noted.entry, str(noted.role), time, text, is_whole=False, where=where)


def _find_turn(archive: Archive, session_id: str, entry: str) -> Turn | None:
    """The turn that an entry is of; None where the archive does not have it any more."""
    try:
        return next((turn for turn in archive.turns(session_id) if entry in turn.entries), None)
    except ContentError:
        return None


# -- what rests on which session ------------------------------------------------------------------------------------


def count_citations(root: MemoryRoot) -> Mapping[str, int]:
    """How many statements, hunks and decisions rest on each session, by the beginning of its id."""
    found: Counter[str] = Counter()
    for source in find_sources(root):
        if source.layer is Layer.TOPIC:
            try:
                text = read_text(root.file(source.path))
            except ContentError:
                continue  # `validate` names it
            for note in read_notes(text).values():
                found.update({cut_id8(source.session_id) for source in read_note(note) if source.session_id})
    store = ProposalStore(root)
    quoted = [hunk.quotes for hunk in store.hunks() if hunk.is_open]
    quoted += [approval.quotes for approval in store.approvals()]
    for quotes in quoted:
        found.update({cut_id8(quote.session_id) for quote in quotes})
    return found
