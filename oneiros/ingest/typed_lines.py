"""Brings typed lines and the blackboard level with the archive, a session at a time.

Behind the ingest in the daemon: it never stands in a session's way, and what is lost is made again from the archive.
"""

import datetime as dt
from collections.abc import Sequence
from contextlib import suppress

from crawler.archive.store import Archive, SessionRecord, hash_objects
from crawler.compress.typed import LineType, SessionLine, select_typed_lines
from crawler.facts import gather_facts, list_tasks
from crawler.quotes import session_turns
from crawler.reading.proof import keep_proved
from crawler.reading.record import RULES, Reading
from crawler.transcripts.turns import Turn
from memory_server.errors import ContentError
from memory_server.index.typed_lines import TypedLine, TypedLines
from memory_server.layers.blackboard import Blackboard, Handoff, SessionNotes
from memory_server.layers.sessions import CompressedSession, newest_files, read_session
from memory_server.memory import Memory
from memory_server.root.paths import MemoryRoot
from oneiros.ingest.readings import find_project, open_readings
from oneiros.ingest.settings import open_archive

MAX_NOTES = 12
MAX_TASKS = 20


class Recorder:
    """The typed lines and the blackboard of one memory."""

    def __init__(self, root: MemoryRoot, archive: Archive, typed_lines: TypedLines):
        self._root = root
        self._archive = archive
        self._readings = open_readings(root)
        self._typed_lines = typed_lines
        self._board = Blackboard(root)

    def bring_level(self) -> int:
        """Records every archived session that has changed or was read since, and forgets those that are gone; how many
        it recorded.
        """
        states = {record.session_id: self._state(record) for record in self._archive.records()}
        known = self._typed_lines.marks()
        for session_id in known.keys() - states.keys():
            self._typed_lines.remove(session_id)
        changed = [name for name, state in states.items() if known.get(name) != state]
        for session_id in changed:
            with suppress(ContentError):  # a damaged archive, which every ingest names
                lines = self._lines(session_id)
                project = find_project(self._archive.record(session_id))
                self._typed_lines.replace(session_id, states[session_id], project, build_typed_lines(session_id, lines))
        return len(changed)

    def _state(self, record: SessionRecord) -> str:
        """What changes when a session grows or is read by another reader."""
        reading = self._readings.load(record.session_id)
        return f"{hash_objects(record)}\n{reading.reader if reading else ''}\n{reading.mark if reading else ''}"

    def _lines(self, session_id: str) -> list[SessionLine]:
        """A session's lines as it stands. Raises ContentError where the archive is damaged."""
        record = self._archive.record(session_id)
        turns = list(self._archive.turns(session_id))
        session = session_turns(session_id, find_project(record), turns)
        reading = self._readings.load(session_id) or Reading(session_id, "", RULES, 0, session.project)
        return select_typed_lines(turns, gather_facts(turns), keep_proved(reading, session))

    def note(self, session_id: str, now: dt.datetime, *, has_ended: bool) -> None:
        """Tells other sessions of one: what it said so far, or what it leaves."""
        try:
            turns, lines = list(self._archive.turns(session_id)), self._lines(session_id)
        except ContentError:  # likewise
            return
        if not turns:
            return
        project = find_project(self._archive.record(session_id))
        tasks = open_tasks(turns)
        self._board.begin(session_id, project, now)
        self._board.write_notes(SessionNotes(session_id, project, list_notes(lines), tasks))
        if has_ended and (file := newest_files(self._root.sessions).get(session_id)):
            self._board.end(build_handoff(read_session(file), tasks, now))
        self._board.tidy(now)


def build_recorder(memory: Memory) -> Recorder:
    """The recorder of an open memory."""
    return Recorder(memory.root, open_archive(memory.root), memory.typed_lines)


def build_typed_lines(session_id: str, lines: Sequence[SessionLine]) -> list[TypedLine]:
    """A session's lines as they are kept."""
    return [
        TypedLine(session_id, ordinal, line.type, line.text, line.why, line.project, line.entries, line.time)
        for ordinal, line in enumerate(lines)
    ]


def list_notes(lines: Sequence[SessionLine]) -> list[str]:
    """The last lines that others may want to know."""
    wanted = [line for line in lines if line.type is not LineType.FACT]
    return [f"{line.type}: {line.text}" for line in wanted[-MAX_NOTES:]]


def open_tasks(turns: Sequence[Turn]) -> list[str]:
    """The assistant's tasks that are not done; those of sub-agents are theirs."""
    return [f"{task.status}: {task.text}" for task in list_tasks(turns) if task.is_open and not task.agent][:MAX_TASKS]


def build_handoff(session: CompressedSession, tasks: Sequence[str], now: dt.datetime) -> Handoff:
    """What a session leaves, from its compressed file and its last list of tasks."""

    def list_lines(*titles: str) -> list[str]:
        sections = [section for section in session.sections if section.title in titles]
        return [statement.text for section in sections for statement in section.statements]

    pending = [task.partition(": ")[2] for task in tasks if task.startswith("pending")]
    return Handoff(
        session_id=session.session_id,
        ended=session.ended or now,
        project=session.project_name,
        accomplished=[*list_lines("Outcome", "Work done"), *list_lines("Decisions")][:MAX_NOTES],
        in_progress=[task.partition(": ")[2] for task in tasks if task.startswith("in_progress")],
        blocked=list_lines("Errors and fixes")[:MAX_NOTES],
        next_steps=[*list_lines("Open items"), *pending][:MAX_NOTES],
        context=[session.title, *(f"touched {file}" for file in session.files_touched[:5])],
    )
