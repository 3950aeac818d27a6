"""Brings the recorder's lines and the blackboard level with the archive, a session at a time.

Behind the ingest in the daemon: it never stands in a session's way, and what is lost is made again from the archive.
"""

import datetime as dt
from collections.abc import Callable, Sequence
from contextlib import suppress

from crawler.archive.store import Archive
from crawler.facts import facts_of
from crawler.recorder import DigestLine, DigestType, digest_lines
from crawler.tasks import tasks_of
from crawler.transcripts.turns import Turn
from memory_server.errors import ContentError
from memory_server.index.typed_lines import TypedLine, TypedLines
from memory_server.layers.blackboard import Blackboard, Handoff, SessionNotes
from memory_server.layers.sessions import CompressedSession, newest_files, project_name, read_session
from memory_server.memory import Memory
from memory_server.root.paths import MemoryRoot
from oneiros.ingest.settings import archive_of

MAX_NOTES = 12
MAX_TASKS = 20
MARK_EDGE = "\n"  # between a state of the archive and the model that wrote lines from it; a state never holds one


class Recorder:
    """The typed lines and the blackboard of one memory."""

    def __init__(
        self,
        root: MemoryRoot,
        archive: Archive,
        digest: TypedLines,
        *,
        keeps_models: Callable[[], bool] = lambda: False,
    ):
        """`keeps_models`: whether lines that a model wrote stay, rather than being made again by rules."""
        self._keeps_models = keeps_models
        self._root = root
        self._archive = archive
        self._digest = digest
        self._board = Blackboard(root)

    def bring_level(self) -> int:
        """Records every archived session that has changed, and forgets those that are gone; how many it read."""
        marks, known = self._marks(), self._digest.marks()
        for session_id in known.keys() - marks.keys():
            self._digest.remove(session_id)
        if self._keeps_models():
            known = {session_id: plain_mark(mark) for session_id, mark in known.items()}
        changed = [session_id for session_id, mark in marks.items() if known.get(session_id) != mark]
        for session_id in changed:
            with suppress(ContentError):  # a damaged archive, which every ingest names
                self._record(session_id, marks[session_id])
        return len(changed)

    def note(self, session_id: str, now: dt.datetime, *, has_ended: bool) -> None:
        """Tells other sessions of one: what it said so far, or what it leaves."""
        try:
            turns, project = turns_of(self._archive, session_id)
        except ContentError:  # likewise
            return
        if not turns:
            return
        lines = digest_lines(turns, facts_of(turns), project)
        tasks = open_tasks(turns)
        self._board.begin(session_id, project, now)
        self._board.write_notes(SessionNotes(session_id, project, notes_of(lines), tasks))
        if has_ended and (file := newest_files(self._root.sessions).get(session_id)):
            self._board.end(handoff_of(read_session(file), tasks, now))
        self._board.tidy(now)

    def _record(self, session_id: str, mark: str) -> None:
        turns, project = turns_of(self._archive, session_id)
        lines = digest_lines(turns, facts_of(turns), project)
        self._digest.replace(session_id, mark, project, typed_lines(session_id, lines))

    def _marks(self) -> dict[str, str]:
        return {record.session_id: str(record.segments) for record in self._archive.records()}


def recorder_on(memory: Memory) -> Recorder:
    """The recorder of an open memory, by the settings that it was opened with or follows."""
    archive = archive_of(memory.root)
    return Recorder(memory.root, archive, memory.typed_lines, keeps_models=lambda: memory.person.recorder == "model")


def turns_of(archive: Archive, session_id: str) -> tuple[list[Turn], str]:
    """A session's turns, and the name of its project. Raises ContentError where the archive is damaged."""
    return list(archive.turns(session_id)), project_name(archive.record(session_id).project)


def typed_lines(session_id: str, lines: Sequence[DigestLine]) -> list[TypedLine]:
    """A session's lines as they are kept."""
    return [
        TypedLine(session_id, ordinal, line.type, line.text, line.why, line.project, line.entries, line.time)
        for ordinal, line in enumerate(lines)
    ]


def marked_by(mark: str, writer: str) -> str:
    """The mark of lines that a model wrote from the state of the archive that `mark` stands for."""
    return f"{mark}{MARK_EDGE}{writer}"


def plain_mark(mark: str) -> str:
    """The state of the archive that lines were made from, whoever wrote them."""
    return mark.partition(MARK_EDGE)[0]


def is_by_rules(mark: str) -> bool:
    """Whether lines were made by rules alone."""
    return MARK_EDGE not in mark


def notes_of(lines: Sequence[DigestLine]) -> list[str]:
    """The last lines that others may want to know."""
    wanted = [line for line in lines if line.type is not DigestType.FACT]
    return [f"{line.type}: {line.text}" for line in wanted[-MAX_NOTES:]]


def open_tasks(turns: Sequence[Turn]) -> list[str]:
    """The assistant's tasks that are not done; those of sub-agents are theirs."""
    return [f"{task.status}: {task.text}" for task in tasks_of(turns) if task.is_open and not task.agent][:MAX_TASKS]


def handoff_of(session: CompressedSession, tasks: Sequence[str], now: dt.datetime) -> Handoff:
    """What a session leaves, from its compressed file and its last list of tasks."""

    def lines_of(*titles: str) -> list[str]:
        sections = [section for section in session.sections if section.title in titles]
        return [statement.text for section in sections for statement in section.statements]

    pending = [task.partition(": ")[2] for task in tasks if task.startswith("pending")]
    return Handoff(
        session_id=session.session_id,
        ended=session.ended or now,
        project=project_name(session.project),
        accomplished=[*lines_of("Outcome", "Work done"), *lines_of("Decisions")][:MAX_NOTES],
        in_progress=[task.partition(": ")[2] for task in tasks if task.startswith("in_progress")],
        blocked=lines_of("Errors and fixes")[:MAX_NOTES],
        next_steps=[*lines_of("Open items"), *pending][:MAX_NOTES],
        context=[session.title, *(f"touched {file}" for file in session.files_touched[:5])],
    )
