"""Ingest in two calls: read transcripts into the archive and compress what is closed, and forget it again.

This is the door for the face and the daemon. It reads, redacts, archives, compresses what is closed, and packs the
archive of closed sessions; it touches no index and prints nothing. Every part of it can be repeated or killed.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from crawler.archive.append import NO_LIMITS, ArchiveReport, Ingester, IngestLimits, IngestSettings
from crawler.archive.discovery import FoundFile, cut_suffixes, find_transcripts
from crawler.archive.store import resolve_session
from crawler.closed import ClosedWhen
from crawler.compress.run import CompressReport, compress_closed
from crawler.reading.record import FOLDER, Readings
from crawler.sources.agent import AgentSource
from crawler.transcripts.tail import is_uuid
from memory_server.errors import ContentError, Problem
from memory_server.layers.sessions import find_session_files, newest_files
from memory_server.machine.files import remove_file


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What was read, and what was compressed; without a compressor nothing was."""

    ingest: ArchiveReport
    compress: CompressReport | None

    @property
    def problems(self) -> list[Problem]:
        """What somebody may want to mend, each once."""
        compressing = self.compress.problems if self.compress else []
        return list({problem.path: problem for problem in [*self.ingest.problems, *compressing]}.values())


def ingest(
    paths: Iterable[Path],
    settings: IngestSettings,
    compressed: Path,
    readings: Readings | None,
    closed_when: ClosedWhen,
    *,
    sent: Iterable[FoundFile] = (),
    limits: IngestLimits = NO_LIMITS,
    progress: Callable[[int, int], None] = lambda *_: None,
    compressing: Callable[[int, int], None] = lambda *_: None,
    check: Callable[[], None] = lambda: None,
    forget_marked: Callable[[Sequence[str]], None] | None = None,
    sources: Iterable[tuple[AgentSource, Sequence[Path]]] = (),
    speakers: frozenset[str] = frozenset(),
) -> IngestReport:
    """Ingests what is new below the paths and in what another machine `sent`, then compresses every closed session that
    has changed.

    `compressed` is `sessions/compressed` of the memory root. Doing it again does nothing. `sources`: readers of other
    agents, and what they read; `speakers`: names of the person in conversations of several. `compressing` is told how
    many sessions were looked at, and of how many. `forget_marked` forgets sessions that a prompt of the person leaves
    out after something of them was taken in; by default `forget` does, which knows no index. `check` is called after
    each file and each session; what it raises ends the ingest there, and nothing is lost. Raises NeedsRepair when
    another process keeps the archive locked.
    """

    def report_read(done: int, every: int) -> None:
        check()
        progress(done, every)

    def report_compressed(done: int, sessions: int) -> None:
        check()
        compressing(done, sessions)

    with Ingester(settings) as ingester:
        report = ingester.ingest(paths, sent=sent, limits=limits, progress=report_read)
        for source, places in sources:
            ingester.ingest_source(source, places, report, speakers=speakers, limits=limits, progress=report_read)
        if limits.dry_run:
            return IngestReport(report, None)
        if held := [
            one for one in sorted(report.marked) if ingester.archive.holds(one) or find_session_files(compressed, one)
        ]:
            forget_marked(held) if forget_marked else forget(held, settings, compressed)
        if readings is None:
            return IngestReport(report, None)
        written = compress_closed(ingester.archive, compressed, readings, closed_when, progress=report_compressed)
        for session_id in written.session_ids:
            ingester.seal(session_id)
        return IngestReport(report, written)


def readmit(what: str, settings: IngestSettings, roots: Iterable[Path], at: datetime) -> list[Path]:
    """Lets forgotten sessions come back at the next ingest, while their transcripts exist; returns all files of theirs.

    `what` is a session's id or the beginning of it, found below the roots, or the path of a transcript or a folder.
    Raises ContentError where there is no transcript of a forgotten session.
    """
    is_path = is_path_of_transcripts(what)
    files = find_transcripts([Path(what)] if is_path else roots).files
    meant = [file for file in files if not file.is_agents and (is_path or cut_suffixes(file.path).startswith(what))]
    with Ingester(settings) as ingester:
        found = ingester.readmit(meant, at)
    if not found:
        raise ContentError(
            "there is no transcript of a session that was forgotten or left out",
            where=what,
            remedy="Name the transcript by its path; without one nothing can be brought back",
        )
    return [path for file in found for path in (file, file.parent / cut_suffixes(file)) if path.exists()]


def forget(session_ids: Sequence[str], settings: IngestSettings, compressed: Path) -> None:
    """Removes sessions: archive, compressed files and state are clean when this returns, and the sessions stay out.

    Indices, proposals and the query log are the caller's.
    """
    with Ingester(settings) as ingester:
        for session_id in session_ids:
            for path in find_session_files(compressed, session_id):
                remove_file(path)
            Readings(compressed.parent / FOLDER).forget([session_id])
            ingester.forget(session_id)  # last: after a kill it is there to be forgotten again


def sessions_meant(what: str, settings: IngestSettings, compressed: Path) -> list[str]:
    """The sessions that a person names: one by the beginning of its id, or all that were read from a transcript or a
    folder of them. Raises ContentError where nothing is known by that name.
    """
    with Ingester(settings) as ingester:
        if is_path_of_transcripts(what):
            found = ingester.find_sessions(Path(what))
            if not found:
                raise ContentError(
                    "no session was read from this path", where=what, remedy="Name the session by its id"
                )
            return found
        if what in newest_files(compressed) or is_uuid(what):
            return [what]
        return [resolve_session(ingester.archive, what)]


def is_path_of_transcripts(what: str) -> bool:
    """Whether a person means a path rather than a session's id."""
    return "/" in what or what.endswith((".jsonl", ".xz"))
