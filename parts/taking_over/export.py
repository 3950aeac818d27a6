"""What training may read of a memory: the approved statements, a line each, and nothing that nobody approved.

A line is one paragraph or list item of an approved file, with the wordings that lost to it: what it replaced, what was
proposed before a person reworded it, and what was turned down for the same place. Files in a state that nobody answered
for are left out. Secrets are masked once more.
"""

import datetime as dt
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dream.decisions.accept import Decisions
from dream.proposals.store import Approval, find_approvals
from dream.records import Rejection
from dream.statements.provenance import read_note, read_notes
from dream.topics import FOOTNOTE_REFERENCE, LIST_SIGN, TopicStatement, TopicText
from memory_server.layers.footnotes import REFERENCE
from memory_server.layers.topics import topic_name
from memory_server.machine.clock import local_day
from memory_server.machine.files import replace_file
from memory_server.redaction import Redactor
from parts.taking_over.bundles import find_approved


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export wrote."""

    lines: int
    left_out: tuple[str, ...]  # files in a state that nobody answered for


def export_approved(decisions: Decisions, file: Path, redactor: Redactor, project: str = "") -> Exported:
    """Writes one JSON object a line, the same bytes for the same memory; with a project of its topics alone."""
    topics, doubtful = find_approved(decisions, project)
    approvals, rejections = decisions.store.approvals(), decisions.rejections()
    rows = [row for topic in topics for row in build_rows(topic, approvals, rejections)]
    lines = [json.dumps(redactor.redact_json(row), ensure_ascii=False) + "\n" for row in rows]
    replace_file(file, "".join(lines), follow=True)
    return Exported(len(lines), doubtful)


def build_rows(
    topic: TopicText, approvals: Sequence[Approval], rejections: Sequence[Rejection]
) -> Iterator[dict[str, object]]:
    """The lines of one topic."""
    by_label = find_approvals(topic.text, approvals)
    notes = {label: read_note(note) for label, note in read_notes(topic.text).items()}
    turned_down = [one for one in rejections if one.target == topic.path]
    for number, block in enumerate(_build_blocks(topic)):
        known = [by_label[label] for label in block.labels if label in by_label]
        place = f"{topic.path} {number} {block.text}"
        yield {
            "id": hashlib.sha256(place.encode()).hexdigest()[:16],
            "topic": topic_name(topic.path),
            "heading": block.heading,
            "text": block.text,
            "superseded": _without_doubles([_plain(one.old_text) for one in known], block.text),
            "rejected": _without_doubles(
                [*(one.suggested for one in known), *(one.text for one in turned_down if _is_rival(one, known))],
                block.text,
            ),
            "sources": _sources(known)
            or [
                f"{one.session_id}/{one.entry}".rstrip("/")
                for label in block.labels
                for one in notes.get(label, ())
                if one.session_id
            ],
            "date": _find_date(known, topic),
        }


def _sources(known: Sequence[Approval]) -> list[str]:
    """The entries that approved statements rest on, each once."""
    return list(dict.fromkeys(f"{quote.session_id}/{quote.entry}" for one in known for quote in one.quotes))


@dataclass(frozen=True, slots=True)
class _Block:
    text: str
    heading: str
    labels: tuple[str, ...]


def _build_blocks(topic: TopicText) -> Iterator[_Block]:
    """The paragraphs and list items of a topic: neighbouring sentences of the same lines and headings, joined."""
    lines = topic.lines
    blocks: list[list[TopicStatement]] = []
    for statement in topic.statements:
        if blocks and _is_continuation(statement, blocks[-1][-1], lines):
            blocks[-1].append(statement)
        else:
            blocks.append([statement])
    for held in blocks:
        raw = "".join(lines[held[0].lines.first - 1 : held[-1].lines.last])
        heading = held[0].headings[-1] if held[0].headings else topic.title
        text = " ".join(statement.text for statement in held)
        yield _Block(text, heading, tuple(dict.fromkeys(REFERENCE.findall(raw))))


def _is_continuation(statement: TopicStatement, last: TopicStatement, lines: Sequence[str]) -> bool:
    """Whether a sentence goes on where the last one ended, in the same paragraph or item."""
    if statement.headings != last.headings or statement.lines.first > last.lines.last + 1:
        return False
    is_new_line = statement.lines.first == last.lines.last + 1
    return not (is_new_line and LIST_SIGN.match(lines[statement.lines.first - 1]))


def _is_rival(rejection: Rejection, known: Sequence[Approval]) -> bool:
    """Whether a rejected wording rests on the same entries as an approved one."""
    mine = {quote.entry for approval in known for quote in approval.quotes}
    return any(quote.entry in mine for quote in rejection.quotes)


def _without_doubles(texts: Sequence[str], approved: str) -> list[str]:
    return [text for text in dict.fromkeys(texts) if text.strip() and text != approved]


def _plain(text: str) -> str:
    bare = FOOTNOTE_REFERENCE.sub("", " ".join(text.split()))
    return re.sub(r"\s+", " ", LIST_SIGN.sub("", bare, count=1)).strip()


def _find_date(known: Sequence[Approval], topic: TopicText) -> str:
    days: list[dt.date] = [local_day(one.at) for one in known]
    day = max(days, default=topic.date)
    return day.isoformat() if day else ""
