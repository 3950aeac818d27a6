"""Notes that sessions wrote or read, as files below `.oneiros/notes`: context, and never authority.

Derived from the archive like an index: `<project>/<name>~<time>~<session>.md`. Each session has its own state of a
note, so that what is forgotten with a session goes alone; a source is the newest one.
"""

import datetime as dt
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from memory_server.layers.sessions import id8_of
from memory_server.machine.files import remove_file, replace_file

STATE = "state.json"  # the mark of each session as its notes were read
NOTE = "note"  # the kind of these sources
UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
MOST_NAME_CHARS = 80


@dataclass(frozen=True, slots=True)
class SessionNote:
    """A note as one session last knew it."""

    path: str  # from the session's folder on, where it lies below it
    text: str  # redacted
    time: dt.datetime | None
    turn: int  # of the session that wrote or read it, from 1


def bring_notes_level(
    folder: Path, marks: Mapping[str, str], notes_of: Callable[[str], tuple[str, Sequence[SessionNote]]]
) -> None:
    """Writes the notes of every session whose mark differs from the one that was noted, and removes those of others.

    `marks`: of all sessions. `notes_of` gives the project of one and its notes.
    """
    state = folder / STATE
    try:
        known: dict[str, str] = dict(json.loads(state.read_bytes()))
    except (OSError, ValueError, TypeError):  # it was never written, or is not what was
        known = {}
    if known == marks:
        return
    for session_id in known.keys() - marks.keys():
        write_notes(folder, session_id, "", ())
    for session_id, mark in marks.items():
        if known.get(session_id) != mark:
            write_notes(folder, session_id, *notes_of(session_id))
    replace_file(state, json.dumps(dict(marks)))


def write_notes(folder: Path, session_id: str, project: str, notes: Sequence[SessionNote]) -> None:
    """Brings the files of one session below a folder level with its notes."""
    wanted = {_file(folder, session_id, project, note): _page(session_id, project, note) for note in notes}
    for old in sorted(folder.glob(f"*/*~{id8_of(session_id)}.md")):
        if old not in wanted:
            remove_file(old)
    for file, page in wanted.items():
        if not file.exists() or file.read_text(encoding="utf-8") != page:
            replace_file(file, page)


def older_notes(files: Collection[str]) -> set[str]:
    """Of files of notes those of which another session knew a later state."""
    newest = {file.rsplit("~", 2)[0]: file for file in sorted(files)}
    return set(files).difference(newest.values())


def _file(folder: Path, session_id: str, project: str, note: SessionNote) -> Path:
    name = UNSAFE.sub("-", note.path.rpartition(".")[0]).strip("-")[-MOST_NAME_CHARS:]
    stamp = note.time.astimezone(dt.UTC).strftime("%Y%m%dT%H%M%S") if note.time else "0"
    return folder / (UNSAFE.sub("-", project).strip("-") or "unknown") / f"{name}~{stamp}~{id8_of(session_id)}.md"


def _page(session_id: str, project: str, note: SessionNote) -> str:
    front = {
        "title": note.path,
        "type": NOTE,
        "modified": note.time.date().isoformat() if note.time else "",
        "project": project,
        "source": f"{id8_of(session_id)}:{note.turn}",
    }
    return f"---\n{yaml.safe_dump(front, sort_keys=False, allow_unicode=True, width=1000)}---\n\n{note.text}"
