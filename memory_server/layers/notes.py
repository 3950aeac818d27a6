"""Notes that sessions wrote or read, as files below `.oneiros/notes`: context, and never authority.

Derived from the archive like an index: `<project>/<name>-<key>~<time>~<session>.md`. Each session has its own state of
a note, so that what is forgotten with a session goes alone; a source is the newest one. The key tells notes apart whose
names are written with the same letters.
"""

import datetime as dt
import hashlib
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import yaml

from memory_server.document import Hit
from memory_server.errors import ContentError
from memory_server.layers.sessions import cut_id8
from memory_server.machine.clock import local_day
from memory_server.machine.files import read_json, remove_file, replace_file

STATE = "state.json"  # the mark of each session as its notes were read
NOTE = "note"  # the kind of these sources
FOLDER = ".oneiros/notes/"  # of their paths
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

    What is removed the files tell: the state may be lost, or of before the process died. `marks`: of all sessions.
    `notes_of` gives the project of one and its notes; where it raises ContentError the session is damaged, and what it
    knew before stays.
    """
    state = folder / STATE
    known = read_json(state, dict[str, str], {})
    ids = set(map(cut_id8, marks))
    for file in sorted(folder.glob("*/*~*.md")):
        if file.stem.rpartition("~")[2] not in ids:
            remove_file(file)
    if known == marks:
        return
    read = {session_id: mark for session_id, mark in marks.items() if known.get(session_id) == mark}
    for session_id in marks.keys() - read.keys():
        with suppress(ContentError):
            write_notes(folder, session_id, *notes_of(session_id))
            read[session_id] = marks[session_id]
    replace_file(state, json.dumps(read))


def write_notes(folder: Path, session_id: str, project: str, notes: Sequence[SessionNote]) -> None:
    """Brings the files of one session below a folder level with its notes."""
    wanted = {_file(folder, session_id, project, note): _page(session_id, project, note) for note in notes}
    for old in sorted(folder.glob(f"*/*~{cut_id8(session_id)}.md")):
        if old not in wanted:
            remove_file(old)
    for file, page in wanted.items():
        if not file.exists() or file.read_bytes() != page.encode("utf-8"):
            replace_file(file, page)


def is_of_session(hit: Hit) -> bool:
    """Whether a hit is of a note that a session knew, not of a file of the person's that has the type."""
    return hit.path.startswith(FOLDER)


def older_notes(files: Collection[str]) -> set[str]:
    """Of files of notes those of which another session knew a later state."""
    newest = {file.rsplit("~", 2)[0]: file for file in sorted(files)}
    return set(files).difference(newest.values())


def _file(folder: Path, session_id: str, project: str, note: SessionNote) -> Path:
    name = UNSAFE.sub("-", note.path.rpartition(".")[0]).strip("-")[-MOST_NAME_CHARS:]
    key = hashlib.blake2b(f"{project}\0{note.path}".encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    stamp = note.time.astimezone(dt.UTC).strftime("%Y%m%dT%H%M%S") if note.time else "0"
    below = folder / (UNSAFE.sub("-", project).strip("-") or "unknown")
    return below / f"{name}-{key}~{stamp}~{cut_id8(session_id)}.md"


def _page(session_id: str, project: str, note: SessionNote) -> str:
    front = {
        "title": note.path,
        "type": NOTE,
        "modified": local_day(note.time).isoformat() if note.time else "",
        "project": project,
        "source": f"{cut_id8(session_id)}:{note.turn}",
    }
    return f"---\n{yaml.safe_dump(front, sort_keys=False, allow_unicode=True, width=1000)}---\n\n{note.text}"
