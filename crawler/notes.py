"""The notes that a session wrote or read whole: plans, handoffs, decisions, rules for assistants, memory files.

Which files are notes is told by their names. What a session last knew of one is kept: as it wrote it, or read it from
the first line on, with its later edits. Of a file that was seen in part alone nothing is known. Everything else that
tools returned is no source of its own.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from crawler.facts import parse_arguments, relative
from crawler.transcripts.turns import Turn
from memory_server.layers.notes import SessionNote

NOTE_BYTES = 16 * 1024  # of a note: four of five are shorter, and the others hold more than half of all
MARKDOWN = re.compile(r"\.(?:md|markdown|txt)\Z", re.IGNORECASE)
NOTE_NAMES = frozenset({"agents.md", "claude.md", "claude.local.md", "gemini.md"})
NOTE_WORDS = frozenset(
    "adr adrs decision decisions handoff handoffs handover learnings memory note notes plan planning plans roadmap "
    "todo todos".split()
)  # of a path, below the folder of the session; of a file elsewhere, of its folder and name
WORDS = re.compile(r"[a-z]+")
NUMBERED = re.compile(r" *(\d+)(?:→|\t)(.*)")  # a line as the client's tool shows it


def find_notes(turns: Sequence[Turn]) -> list[SessionNote]:
    """The last state of every note of a session that is known whole and no longer than NOTE_BYTES."""
    known: dict[str, SessionNote] = {}
    for number, turn in enumerate(turns, start=1):
        path = note_path(turn)
        if not path or turn.is_error or not turn.is_answered:
            continue
        before = known.pop(path, None)
        if text := apply_call(turn, before.text if before else ""):
            known[path] = SessionNote(path, text, turn.time, number)
    return [note for note in known.values() if len(note.text.encode("utf-8")) <= NOTE_BYTES]


def note_path(turn: Turn) -> str:
    """The path of the note that a call is about, from the session's folder on; empty where it is about none."""
    path = parse_arguments(turn).get("file_path") if turn.tool in ("Read", "Write", "Edit", "MultiEdit") else None
    if not isinstance(path, str) or not MARKDOWN.search(path):
        return ""
    below = relative(path.replace("\\", "/"), turn.cwd.replace("\\", "/"))
    is_elsewhere = below.startswith("/") or below[1:2] == ":"
    if is_elsewhere and "/topics/" in below:
        return ""  # it may be a memory's own, which answers for itself
    *folders, name = below.lower().split("/")
    telling = [*folders[-1:], name] if is_elsewhere else [*folders, name]
    is_note = name in NOTE_NAMES or not NOTE_WORDS.isdisjoint(WORDS.findall("/".join(telling)))
    return below if is_note else ""


def apply_call(turn: Turn, before: str) -> str:
    """What a file holds after a call, which held `before` if that was known; empty where it is not known whole."""
    arguments = parse_arguments(turn)
    if turn.tool == "Write":
        return str(arguments.get("content", ""))
    if turn.tool == "Read":
        return before if {"offset", "limit"} & arguments.keys() else "\n".join(lines_read(turn.text))
    edits = arguments.get("edits", [arguments])
    for edit in edits if isinstance(edits, list) else ():
        before = apply_edit(before, edit) if isinstance(edit, dict) else ""
    return before


def lines_read(shown: str) -> Iterator[str]:
    """The lines of a file as the client showed them, from the first on; what it says behind them is left out."""
    for expected, line in enumerate(shown.split("\n"), start=1):
        match = NUMBERED.fullmatch(line)
        if match is None or int(match[1]) != expected:
            return
        yield match[2]


def apply_edit(text: str, edit: dict[str, Any]) -> str:
    """A text with a passage exchanged; empty where it does not hold the passage, so that it was another."""
    old, new = str(edit.get("old_string", "")), str(edit.get("new_string", ""))
    if not old or old not in text:
        return ""
    return text.replace(old, new) if edit.get("replace_all") else text.replace(old, new, 1)
