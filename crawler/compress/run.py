"""Reads each closed session by rules, and writes its compressed file where it does not have its newest one yet.

A file is never edited: a session that was resumed gets the next revision, which names the one it supersedes. A kill
leaves the old files and at most a temporary one, and running again ends the same.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from crawler.archive.store import Archive
from crawler.closed import ClosedWhen
from crawler.compress.extractive import condense_session
from crawler.facts import count_tokens, gather_facts
from crawler.quotes import session_turns
from crawler.reading.proof import keep_proved
from crawler.reading.record import Reading, Readings
from crawler.reading.rules import read_by_rules
from crawler.transcripts.turns import Role, Turn
from memory_server.errors import ContentError, Problem
from memory_server.layers.sessions import (
    CompressedSession,
    cut_id8,
    find_compressed,
    newest_files,
    read_session,
    write_session,
)

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class CompressReport:
    """What a run wrote. `open` are sessions that are still going on, `empty` those in which nobody spoke."""

    written: list[Path] = field(default_factory=list)
    session_ids: list[str] = field(default_factory=list)  # of the files written, in the same order
    unchanged: int = 0
    open: int = 0
    empty: int = 0
    problems: list[Problem] = field(default_factory=list)  # sessions whose archive cannot be read


def compress_closed(
    archive: Archive,
    folder: Path,
    readings: Readings,
    closed_when: ClosedWhen,
    *,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> CompressReport:
    """Compresses every closed session into `folder` (`sessions/compressed` of a memory root), by its reading.

    `progress` is told how many sessions are done and how many there are.
    """
    report = CompressReport()
    newest = newest_files(folder)
    wanted = archive.session_ids()
    for done, session_id in enumerate(wanted, start=1):
        try:
            if closed_when.applies(session_id, read_last_time(archive, session_id)):
                _compress(archive, folder, readings, session_id, newest.get(session_id), report)
            else:
                report.open += 1
        except ContentError as error:
            where = str(error.where or f"sessions/archive/{session_id}")
            report.problems.append(Problem(where, error.line or 1, error.what, error.remedy, "session"))
        progress(done, len(wanted))
    logger.info("compression: %d of %d sessions written", len(report.written), len(wanted))
    return report


def count_uncompressed(archive: Archive, folder: Path, closed_when: ClosedWhen) -> int:
    """How many sessions that are over have no compressed file, although somebody spoke in them."""
    made, count = find_compressed(folder), 0
    for session_id in archive.session_ids():
        with suppress(ContentError):  # `archive verify` names what is damaged
            is_wanted = cut_id8(session_id) not in made
            if is_wanted and closed_when.applies(session_id, read_last_time(archive, session_id)):
                count += has_speech(archive.turns(session_id))
    return count


def has_speech(turns: Iterable[Turn]) -> bool:
    """Whether a person or the assistant said anything."""
    return any(turn.role in (Role.PERSON, Role.ASSISTANT) for turn in turns)


def _compress(
    archive: Archive, folder: Path, readings: Readings, session_id: str, old: Path | None, report: CompressReport
) -> None:
    source_hash = archive.hash_session(session_id)
    before = read_session(old) if old else None
    reading = readings.load(session_id)
    is_read = reading is not None and reading.mark == source_hash
    is_current = before is not None and before.source_hash == source_hash
    if is_current and before and reading and is_read and is_by(before, reading):
        report.unchanged += 1
        return
    session = compress_session(archive, session_id, readings)
    if session is None:
        report.empty += 1
        return
    if is_current and not is_read:  # by a version without readings: this one is made, and the file tells no more by it
        report.unchanged += 1
        return
    if before and old:
        session = replace(session, revision=before.revision + 1, supersedes=old.name)
    report.written.append(write_session(folder, replace(session, source_hash=source_hash)))
    report.session_ids.append(session_id)


def is_by(session: CompressedSession, reading: Reading) -> bool:
    """Whether a compressed file tells what this reader noted; rules note nothing that takes the place of a model's."""
    return not reading.is_by_model or session.compressor == reading.reader


def compress_session(archive: Archive, session_id: str, readings: Readings) -> CompressedSession | None:
    """The compressed session, unwritten; None where neither a person nor the assistant said anything.

    What nobody has read in its present state is read by rules, and the reading kept.
    """
    turns = list(archive.turns(session_id))
    if not has_speech(turns):
        return None
    record, facts, mark = archive.record(session_id), gather_facts(turns), archive.hash_session(session_id)
    quotable = session_turns(session_id, record.project_name, turns)
    reading = readings.load(session_id)
    if reading is None or reading.mark != mark:
        reading = read_by_rules(quotable, turns, facts, mark)
        readings.save(reading)
    session = condense_session(turns, facts, record, keep_proved(reading, quotable))
    return replace(session, tokens=session_tokens(archive, session_id))


def session_tokens(archive: Archive, session_id: str) -> dict[str, int]:
    """The tokens of a session with its sub-agents, as the client counted them."""
    sources: Sequence[str] = archive.sources(session_id)
    counts = [count_tokens(archive.entries(session_id, source)) for source in sources]
    return {side: sum(count[side] for count in counts) for side in ("input", "output")}


def read_last_time(archive: Archive, session_id: str) -> datetime:
    """When the session's last entry was written; the beginning of time where no entry says."""
    try:
        moment = datetime.fromisoformat(archive.record(session_id).ended)
    except ValueError:
        return datetime.fromtimestamp(0, UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
