"""A whole session to take along: every archived turn, as Markdown to read or as data for a program.

It is no source of a memory: the mark at its beginning keeps it out where a folder that is read happens to hold it.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from crawler.archive.store import SessionRecord
from crawler.transcripts.injected import CHAT_MARK, EXPORT_MARK
from crawler.transcripts.turns import Turn
from memory_server.escaping import escape_line, escape_text


def render_session(record: SessionRecord, turns: Sequence[Turn]) -> Iterator[str]:
    """A page with a heading a turn; what a tool was called with and returned is set in as code."""
    yield f"{EXPORT_MARK}\n\n# Session {escape_line(record.session_id)}\n"
    for number, turn in enumerate(turns, start=1):
        when = f", {turn.time.isoformat()}" if turn.time else ""
        yield f"## {number}. {escape_line(f'{turn.role} {turn.tool}'.strip())}{when}\n"
        text = escape_text("\n".join(filter(None, [turn.arguments, turn.text])))
        yield "".join(f"    {line}\n" for line in text.splitlines()) if turn.tool else f"{text}\n"


def session_json(record: SessionRecord, turns: Sequence[Turn]) -> dict[str, Any]:
    """The same as one object."""
    rows = [
        {
            "number": number,
            "role": str(turn.role),
            "time": turn.time.isoformat() if turn.time else None,
            "tool": turn.tool,
            "arguments": turn.arguments,
            "text": turn.text,
            "is_error": turn.is_error,
            "is_live": turn.is_live,
            "entries": list(turn.entries),
        }
        for number, turn in enumerate(turns, start=1)
    ]
    about = {"session_id": record.session_id, "project": record.project, "folder": record.cwd}
    return {"oneiros": CHAT_MARK, **about, "turns": rows}
