"""The blackboard: what sessions that run now, and the next ones, tell each other.

    sessions/<id>/_meta.json          session_id, project, started, ended, status
    sessions/<id>/session-notes.md    what it said so far; beside it active-tasks.md and shared-context.md
    sessions/<id>/told-<kind>.md      what its assistant wrote for the others: status, handoff or context
    handoff/handoff-<id>.md           what was accomplished, is in progress, blocked, next; one a session
    handoff/latest-handoff.md         a copy of the newest
    .archive/                         folders of sessions that ended long ago

Every file has one writer, its session, and is replaced in one step, so that sessions at once never tear or lose each
other's. It is never indexed and never evidence: a summary of a summary proves nothing.
"""

import datetime as dt
import json
import re
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from memory_server.errors import UsageError
from memory_server.layers.sessions import project_name
from memory_server.machine.files import is_plain_file, move, read_json, replace_file
from memory_server.root.paths import MemoryRoot

RETENTION_DAYS = 14
SHOWN_HANDOFFS = 3
NOTE_KINDS = ("status", "handoff", "context")
MAX_NOTE_BYTES = 4_000
MAX_HANDOFF_CHARS = 3_000  # of one, as shown
SESSION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


@dataclass(frozen=True, slots=True)
class Handoff:
    """What a session leaves to the next one. Lists hold one line each."""

    session_id: str
    ended: dt.datetime  # aware
    project: str = ""
    accomplished: Sequence[str] = ()
    in_progress: Sequence[str] = ()
    blocked: Sequence[str] = ()
    next_steps: Sequence[str] = ()
    context: Sequence[str] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.accomplished or self.in_progress or self.blocked or self.next_steps)

    def as_markdown(self) -> str:
        parts = [f"# Handoff\n\nSession: {self.session_id}\nEnded: {_stamp(self.ended)}\nProject: {self.project}\n"]
        for title, lines, mark in (
            ("What Was Accomplished", self.accomplished, "- "),
            ("In Progress", self.in_progress, "- "),
            ("Blocked", self.blocked, "- "),
            ("Next Steps", self.next_steps, "- [ ] "),
            ("Important Context", self.context, "- "),
        ):
            parts.append(f"## {title}\n\n" + ("".join(f"{mark}{' '.join(line.split())}\n" for line in lines) or "-\n"))
        return "\n".join(parts)


@dataclass(frozen=True, slots=True)
class SessionNotes:
    """What a running session tells the others."""

    session_id: str
    project: str = ""
    notes: Sequence[str] = ()
    tasks: Sequence[str] = ()
    context: Sequence[str] = field(default=())


@dataclass(frozen=True, slots=True)
class NoteForSessions:
    """What the assistant of a session wrote for the others, of one kind. It is data: a session may have been misled."""

    path: str  # from the memory root
    session_id: str
    kind: str
    age: str  # in words
    text: str


class WaitingNote(NamedTuple):
    """What another session has left."""

    session_id: str
    kind: str
    age: str  # in words


class Blackboard:
    """The blackboard of one memory."""

    def __init__(self, root: MemoryRoot):
        self.folder = root.path / ".blackboard"

    def begin(self, session_id: str, project: str, now: dt.datetime) -> None:
        """Notes that a session runs; one that goes on keeps its beginning."""
        before = self._meta(session_id)
        started = before.get("started") or _stamp(now)
        self._write_meta(session_id, project=project, started=started, ended="", status="active")

    def write_notes(self, notes: SessionNotes) -> None:
        """Replaces what a session has told so far."""
        folder = self._session(notes.session_id)
        for name, lines in (
            ("session-notes.md", notes.notes),
            ("active-tasks.md", notes.tasks),
            ("shared-context.md", notes.context),
        ):
            if lines:
                replace_file(folder / name, "".join(f"- {' '.join(line.split())}\n" for line in lines))

    def tell(self, session_id: str, kind: str, text: str, now: dt.datetime) -> None:
        """Replaces what a session tells of one kind; an empty text takes it back.

        Raises UsageError for an id or kind that is none, and for a text of more than MAX_NOTE_BYTES.
        """
        if kind not in NOTE_KINDS:
            raise UsageError(f"{kind[:40]!r} is no kind", remedy=f"Name one of {', '.join(NOTE_KINDS)}")
        if not SESSION_ID.fullmatch(session_id):
            raise UsageError(f"{session_id[:40]!r} is no id of a session", remedy="Name your session as `session`")
        if (size := len(text.encode())) > MAX_NOTE_BYTES:
            raise UsageError(f"the note has {size:,} bytes, the limit is {MAX_NOTE_BYTES:,}", remedy="Shorten it")
        file = self._session(session_id) / f"told-{kind}.md"
        if not text.strip():
            file.unlink(missing_ok=True)
            return
        if not self._meta(session_id):
            self.begin(session_id, "", now)
        replace_file(file, f"{_stamp(now)}\n{text.strip()}\n")

    def list_notes(self, now: dt.datetime) -> list[NoteForSessions]:
        """What the assistants of sessions wrote for the others, the newest first."""
        found = []
        for file in filter(is_plain_file, self.folder.glob("sessions/*/told-*.md")):
            stamp, _, text = file.read_text(encoding="utf-8", errors="replace")[: 2 * MAX_NOTE_BYTES].partition("\n")
            kind, path = file.stem.removeprefix("told-"), file.relative_to(self.folder.parent).as_posix()
            found.append((stamp, NoteForSessions(path, file.parent.name, kind, _age(stamp, now), text.strip())))
        return [note for _, note in sorted(found, key=lambda one: one[0], reverse=True)]

    def find_waiting_note(self, session_id: str, project: str, now: dt.datetime) -> WaitingNote | None:
        """The note, else the newest handoff of the last RETENTION_DAYS, that waits for a session of a project.

        It is from another session of it or from one whose project nobody knows; None where none waits.
        """
        own, ours = f"handoff-{session_id}.md", ("", project.casefold())
        for note in self.list_notes(now):
            its = fold_project_name(str(self._meta(note.session_id).get("project", "")))
            if note.session_id != session_id and its in ours:
                return WaitingNote(note.session_id, note.kind, note.age)
        oldest = _stamp(now - dt.timedelta(days=RETENTION_DAYS))
        for file in self.handoffs():
            ended = _read_ended(file)
            if file.name != own and ended >= oldest and fold_project_name(_read_line(file, "Project")) in ours:
                return WaitingNote(file.stem.removeprefix("handoff-"), "handoff", _age(ended, now))
        return None

    def end(self, handoff: Handoff) -> None:
        """Notes that a session is over, and what it leaves."""
        started = self._meta(handoff.session_id).get("started", "")
        ended = _stamp(handoff.ended)
        self._write_meta(handoff.session_id, project=handoff.project, started=started, ended=ended, status="ended")
        if handoff.is_empty:
            return
        text = handoff.as_markdown()
        replace_file(self.folder / "handoff" / f"handoff-{_check_id(handoff.session_id)}.md", text)
        latest = self.folder / "handoff" / "latest-handoff.md"
        if not latest.exists() or _read_ended(latest) <= ended:
            replace_file(latest, text)

    def handoffs(self) -> list[Path]:
        """The handoffs, the newest first."""
        files = filter(is_plain_file, self.folder.glob("handoff/handoff-*.md"))
        found = [(_read_ended(file), file.name, file) for file in files]
        return [file for _, _, file in sorted(found, reverse=True)]

    def active(self) -> list[dict[str, Any]]:
        """The sessions that are said to run, by id."""
        metas = [self._meta(folder.name) for folder in sorted(self.folder.glob("sessions/*"))]
        return [meta for meta in metas if meta.get("status") == "active"]

    def text(self, now: dt.datetime) -> str:
        """Notes, the last handoffs and the running sessions, each with its age, for a reader of the next session."""
        parts = []
        room = MAX_NOTE_BYTES  # the newest note whole, others as far as they fit
        for note in self.list_notes(now):
            if room > 0:
                lines = "".join(f"  | {line}\n" for line in note.text[:room].splitlines())
                parts.append(f"Session {note.session_id} tells the others ({note.kind}, {note.age}):\n{lines}")
                room -= len(note.text)
        for file in self.handoffs()[:SHOWN_HANDOFFS]:
            parts.append(f"({_age(_read_ended(file), now)})\n{file.read_text(encoding='utf-8')[:MAX_HANDOFF_CHARS]}")
        for meta in self.active():
            notes = self.folder / "sessions" / meta["session_id"] / "session-notes.md"
            excerpt = notes.read_text(encoding="utf-8")[:MAX_HANDOFF_CHARS] if is_plain_file(notes) else ""
            begun = _age(str(meta.get("started", "")), now)
            parts.append(f"Session {meta['session_id']} of {meta.get('project', '')}, begun {begun}\n{excerpt}")
        return "\n\n".join(parts) or "No session has left a handoff yet."

    def tidy(self, now: dt.datetime) -> None:
        """Moves old sessions to the archive."""
        oldest = _stamp(now - dt.timedelta(days=RETENTION_DAYS))
        for folder in self.folder.glob("sessions/*"):
            with suppress(FileNotFoundError):  # another process tidies too
                made = dt.datetime.fromtimestamp(folder.stat().st_mtime, dt.UTC)  # of one that is just begun
                meta, target = self._meta(folder.name), self.folder / ".archive" / folder.name
                if (meta.get("ended") or meta.get("started") or _stamp(made)) < oldest and not target.exists():
                    move(folder, target)

    def forget(self, session_id: str) -> None:
        """Removes everything that a session told; the newest handoff of another takes the place of its own."""
        for folder in (self._session(session_id), self.folder / ".archive" / _check_id(session_id)):
            shutil.rmtree(folder, ignore_errors=True)
        (self.folder / "handoff" / f"handoff-{session_id}.md").unlink(missing_ok=True)
        latest = self.folder / "handoff" / "latest-handoff.md"
        if left := self.handoffs():
            replace_file(latest, left[0].read_text(encoding="utf-8"))
        else:
            latest.unlink(missing_ok=True)

    def _session(self, session_id: str) -> Path:
        return self.folder / "sessions" / _check_id(session_id)

    def _meta(self, session_id: str) -> dict[str, Any]:
        return read_json(self._session(session_id) / "_meta.json", dict[str, Any], {})

    def _write_meta(self, session_id: str, **more: str) -> None:
        meta = {"session_id": session_id, **more}
        replace_file(self._session(session_id) / "_meta.json", json.dumps(meta, ensure_ascii=False, indent=2) + "\n")


def _check_id(session_id: str) -> str:
    if not SESSION_ID.fullmatch(session_id):
        raise ValueError(f"{session_id!r} is no id of a session")
    return session_id


def _read_ended(file: Path) -> str:
    return _read_line(file, "Ended")


def _read_line(file: Path, name: str) -> str:
    """What a handoff says of itself on a line of its head; empty where it says nothing."""
    found = re.search(rf"^{name}: (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    return found[1].strip() if found else ""


def fold_project_name(project: str) -> str:
    """The name of a project, case-folded, of its name or identity; empty where there is none."""
    return project_name(project).casefold() if project else ""


def _stamp(moment: dt.datetime) -> str:
    return moment.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _age(stamp: str, now: dt.datetime) -> str:
    try:
        hours = (now - dt.datetime.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=dt.UTC)).total_seconds() / 3600
    except ValueError:
        return "some time ago"
    if hours < 1:
        return f"{max(0, round(hours * 60))} minutes ago"
    return f"{round(hours)} hours ago" if hours < 48 else f"{round(hours / 24)} days ago"
