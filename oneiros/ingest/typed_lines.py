"""Brings the recorder's lines and the blackboard level with the archive, a session at a time.

Behind the ingest in the daemon: it never stands in a session's way, and what is lost is made again from the archive.
"""

import datetime as dt
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from crawler.archive.store import Archive
from crawler.facts import facts_of
from crawler.model_recorder import BY_MODEL, beside_rules
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


@dataclass(frozen=True, slots=True)
class RecordMark:
    """What the lines of a session were made from, as it is kept beside them: a line a field."""

    state: str  # of the archive
    writer: str = ""  # the model that was asked about all of it; empty where it was not
    asked: str = ""  # the last entry that a model was asked about

    @classmethod
    def of(cls, text: str) -> "RecordMark":
        return cls(*text.split("\n", 2))

    def __str__(self) -> str:
        return "\n".join((self.state, self.writer, self.asked)).rstrip("\n")


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
        states = {record.session_id: str(record.segments) for record in self._archive.records()}
        known = {session_id: RecordMark.of(mark) for session_id, mark in self._digest.marks().items()}
        for session_id in known.keys() - states.keys():
            self._digest.remove(session_id)
        if not self._keeps_models():
            known = {session_id: mark for session_id, mark in known.items() if not (mark.writer or mark.asked)}
        changed = [name for name, state in states.items() if name not in known or known[name].state != state]
        for session_id in changed:
            asked = known.get(session_id, RecordMark("")).asked
            with suppress(ContentError):  # a damaged archive, which every ingest names
                record_lines(self._archive, self._digest, session_id, RecordMark(states[session_id], asked=asked))
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


def recorder_on(memory: Memory) -> Recorder:
    """The recorder of an open memory, by the settings that it was opened with or follows."""
    archive = archive_of(memory.root)
    return Recorder(memory.root, archive, memory.typed_lines, keeps_models=lambda: memory.person.recorder == "model")


def recorded(root: MemoryRoot, digest: TypedLines) -> dict[str, int]:
    """How many sessions are recorded, how many of these by a model, and how many of the archive are not yet."""
    marks, there = digest.marks(), set(archive_of(root).session_ids())
    done = there.intersection(marks)
    by_model = sum(bool(RecordMark.of(marks[session_id]).writer) for session_id in done)
    return {"sessions": len(done), "by_model": by_model, "left": len(there) - len(done)}


def left_for_model(root: MemoryRoot) -> int:
    """How many archived sessions a model was not asked about to their end."""
    digest = TypedLines(root.typed_lines)
    try:
        return len(archive_of(root).session_ids()) - recorded(root, digest)["by_model"]
    finally:
        digest.close()


def turns_of(archive: Archive, session_id: str) -> tuple[list[Turn], str]:
    """A session's turns, and the name of its project. Raises ContentError where the archive is damaged."""
    return list(archive.turns(session_id)), project_name(archive.record(session_id).project)


def record_lines(
    archive: Archive, digest: TypedLines, session_id: str, mark: RecordMark, written: Sequence[DigestLine] = ()
) -> None:
    """Records a session as the archive has it: what a model just wrote and what it wrote up to `mark.asked`, and the
    lines made by rules beside that. Raises ContentError where the archive is damaged.
    """
    turns, project = turns_of(archive, session_id)
    older = [line_of(line) for line in digest.of_session(session_id) if line.session_id == session_id and mark.asked]
    kept = [line for line in older if line.why.startswith(BY_MODEL)]
    models = list({line.text: line for line in (*kept, *written)}.values())
    plain = digest_lines(turns, facts_of(turns), project)
    digest.replace(session_id, str(mark), project, typed_lines(session_id, beside_rules(models, plain, turns)))


def typed_lines(session_id: str, lines: Sequence[DigestLine]) -> list[TypedLine]:
    """A session's lines as they are kept."""
    return [
        TypedLine(session_id, ordinal, line.type, line.text, line.why, line.project, line.entries, line.time)
        for ordinal, line in enumerate(lines)
    ]


def line_of(line: TypedLine) -> DigestLine:
    """A line that was kept."""
    return DigestLine(DigestType(line.type), line.text, line.why, line.project, line.entries, line.time)


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
