"""Takes transcripts into the archive: every new entry once, redacted, whatever was read before.

The order of writing makes a kill harmless: the archive first (which drops what it has), then the note of how far the
file was read. Ingesting again after a kill at any point, or beside another ingester, gives the same archive as
ingesting once. What a person sees of it (progress, tables) is the face's work.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from pathlib import Path

import filelock
import msgspec

from crawler.archive.choice import Choice, Projects, covers, is_project
from crawler.archive.discovery import FoundFile, find_files, find_transcripts, in_order, make_problem
from crawler.archive.files import (
    ConversationRead,
    EntryRedactor,
    FreshEntries,
    Read,
    RefusedFile,
    TranscriptRead,
    make_state,
    state_of_file,
    with_log,
)
from crawler.archive.names import ProjectNames
from crawler.archive.store import Archive, SessionKey
from crawler.sources.agent import AgentSource, list_source_files
from crawler.sources.conversation import AgentFile
from crawler.transcripts.entry import Entry, Stamps, in_side_chain, parse_time
from crawler.transcripts.tail import FileState, TailState, Verdict, copy_key
from crawler.transcripts.transcript import BadLine, open_transcript, reading
from crawler.transcripts.turns import PROMPT_KINDS
from memory_server.errors import ContentError, NeedsRepair, Problem
from memory_server.layers.sessions import project_name
from memory_server.redaction import Redactor

logger = logging.getLogger(__name__)

LEFT_OUT = "you excluded or forgot this session; `oneiros forget --undo` with this path takes it in again"


@dataclass(frozen=True, slots=True)
class IngestLimits:
    """What an ingest is to read at the most; empty fields leave nothing out."""

    since: datetime | None = None  # files that were not changed since then are left out
    limit: int | None = None  # it ends after so many files that were read
    project: str = ""  # as `is_project` takes it; all others are left out
    dry_run: bool = False  # nothing is written


NO_LIMITS = IngestLimits()


@dataclass(frozen=True, slots=True)
class IngestSettings:
    """Where an ingest writes, and what it takes."""

    archive: Path  # the folder of the archive, `sessions/archive` of a memory root
    state: Path  # holds the table of files read: `.oneiros/sessions.db`
    machine: str = "localhost"
    choice: Choice = field(default_factory=Choice)
    aliases: tuple[tuple[str, str], ...] = ()  # identity of a project -> the identity that stands for it
    deny_words: tuple[str, ...] = ()  # masked besides what looks like a secret
    lock_seconds: float = 60.0  # how long to wait for another ingester
    latest: datetime | None = None  # what is stamped later was stamped by a wrong clock; None: nothing is
    hashes: Path | None = None  # where an `Archive` keeps them


@dataclass(slots=True)
class ArchiveReport:
    """What one ingest did. With `is_dry_run` nothing was written, and the counts say what would have been."""

    is_dry_run: bool = False
    files: int = 0
    read: int = 0
    unchanged: int = 0
    gone: int = 0  # known files that are no longer there; their archive is kept
    entries: int = 0  # new entries with speech or a tool's work
    copies: int = 0  # entries dropped since another session has them
    secrets: int = 0
    bytes_read: int = 0
    sessions: set[str] = field(default_factory=set)  # that gained entries
    marked: set[str] = field(default_factory=set)  # that a prompt leaves out, though something of them may be kept
    refused: list[RefusedFile] = field(default_factory=list)
    bad_lines: list[BadLine] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)  # files and lines that somebody may want to mend
    remarks: list[str] = field(default_factory=list)  # what a person may want to know, and nobody has to mend
    skipped: Counter[str] = field(default_factory=Counter)  # records passed over, by type


class Excluded(Exception):  # a signal inside this module, not an error of anybody's
    """The person marked the conversation as not to be remembered."""


class Ingester:
    """Reads transcripts into one archive. A context manager."""

    def __init__(self, settings: IngestSettings):
        settings.archive.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.archive = Archive(settings.archive, settings.hashes)
        self._settings = settings
        self._tail = TailState(settings.state, settings.machine)
        self._projects = Projects(dict(settings.aliases))
        self._names = ProjectNames(settings.archive)
        self._redactor = Redactor(settings.deny_words)
        self._lock = filelock.FileLock(settings.archive / ".lock", timeout=settings.lock_seconds)
        self._forgotten_copies = self.archive.forgotten_copies()
        if not self._tail.is_filled():
            with self._hold_lock():
                self._tail.fill(self._read_copies())
                self.archive.remove_orphans()

    def close(self) -> None:
        self._tail.close()

    def __enter__(self) -> "Ingester":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ingest(
        self,
        paths: Iterable[Path],
        *,
        sent: Iterable[FoundFile] = (),
        limits: IngestLimits = NO_LIMITS,
        progress: Callable[[int, int], None] = lambda *_: None,
    ) -> ArchiveReport:
        """Reads every transcript below the paths, and what another machine sent, as far as it is new.

        `progress` is told how many bytes on the disk were looked at, and of how many. Raises NeedsRepair when another
        ingester holds the archive for longer than the settings allow.
        """
        roots = [path.absolute() for path in paths]
        there = find_transcripts(roots, since=limits.since)
        found = [*there.files, *in_order(sent)]
        known = self._tail.files()
        report = ArchiveReport(is_dry_run=limits.dry_run, files=len(found), problems=list(there.problems))
        for file in _next_files(found, report, limits, progress):
            state = known.get(str(file.name))
            if state and self._is_level(state, file):
                report.unchanged += 1
            else:
                try:
                    self._ingest_file(file, report, project=limits.project)
                except ContentError as error:
                    report.problems.append(make_problem(error, file.name))
        if limits.since is None and not limits.dry_run:
            report.gone = self._reconcile(roots, known, found)
        logger.info("ingest: %d of %d files read, %d entries", report.read, report.files, report.entries)
        return report

    def ingest_source(
        self,
        source: AgentSource,
        paths: Iterable[Path],
        report: ArchiveReport,
        *,
        speakers: frozenset[str] = frozenset(),
        limits: IngestLimits = NO_LIMITS,
        progress: Callable[[int, int], None] = lambda *_: None,
    ) -> None:
        """Reads the conversations of another agent below the paths, into the report of what else was read.

        `speakers`: names of the person in conversations of several, case-folded.
        """
        there = find_files(list_source_files(source, [path.absolute() for path in paths]), since=limits.since)
        files = [with_log(file) for file in there.files]
        report.files += len(files)
        report.problems += there.problems
        for file in _next_files(files, report, limits, progress):
            try:
                found = AgentFile(file.path, speakers, stamps=self._find_stamps(file))
                self._ingest_conversations(source, file, found, report, project=limits.project)
            except ContentError as error:
                report.problems.append(make_problem(error, file.path))

    def append(self, key: SessionKey, entries: Sequence[Entry]) -> int:
        """Adds a chain of entries, its root first, behind the last one of a session; how many were new.

        Raises NeedsRepair when another ingester holds the archive for longer than the settings allow.
        """
        redacted: Iterator[Entry] = (EntryRedactor(self._redactor).redact(entry) for entry in entries)
        key = replace(key, machine=self._mask(key.machine), project=self._mask(key.project))
        with self._hold_lock():
            if segments := self.archive.record(key.session_id).segments:
                next(redacted)  # the root is there
                redacted = chain([msgspec.structs.replace(next(redacted), parent=segments[-1].entries[-1])], redacted)
            return self.archive.add(key, redacted)

    def _mask(self, text: str) -> str:
        return self._redactor.redact(text).text

    def _ingest_conversations(
        self, source: AgentSource, file: FoundFile, found: AgentFile, report: ArchiveReport, *, project: str
    ) -> None:
        with self._hold_lock():
            state = self._tail.file(str(file.path))
            if state and self._is_level(state, file):
                report.unchanged += 1
                return
            read = None
            for talk in source.read(found):
                read = ConversationRead(file, talk, is_first=read is None)
                self._settle(read, None, report, project=project)
            report.read += 1
            report.bad_lines += found.bad_lines
            report.problems += found.problems
            report.skipped += found.unknown
            if read is None and found.unknown:
                reason = f"no conversation of {source.TITLE} is in it"
                report.refused.append(RefusedFile(file.path, Verdict.FOREIGN, reason))
            if (read or found.stamps) and not (report.is_dry_run or project):
                self._note_file(source, file, found, read)

    def _note_file(self, source: AgentSource, file: FoundFile, found: AgentFile, read: ConversationRead | None) -> None:
        """Notes how a file stands, unless it was left out as a whole."""
        before = self._tail.file(str(file.path))
        if before is None or before.verdict is Verdict.TAKEN:
            is_one = read is not None and read.file is file and self.archive.holds(read.session_id)
            session_id = read.session_id if read and is_one else ""
            self._tail.put(state_of_file(file, source, found, before, session_id=session_id, rules=self._rules(None)))

    def _find_stamps(self, file: FoundFile) -> dict[str, str]:
        """What stood of each conversation in a file that holds many, when it was last read."""
        inside = self._tail.inside(str(file.path))
        return {key: one.prefix.decode() for key, one in inside.items() if one.prefix and self._is_settled(one)}

    def _is_settled(self, state: FileState) -> bool:
        return state.verdict is Verdict.TAKEN and state.rules == self._rules(state) and self._is_kept(state)

    def forget(self, session_id: str) -> bool:
        """Removes a session from archive and state, and keeps it out; returns whether it was archived."""
        with self._hold_lock():
            keys = self._tail.list_keys(session_id)
            was_there = self.archive.forget(session_id, copies=keys)
            self._tail.forget_session(session_id)
            self._forgotten_copies |= set(keys)
        return was_there

    def readmit(self, files: Iterable[FoundFile], at: datetime) -> list[Path]:
        """Lets those sessions come back at the next ingest that were forgotten, whatever was written before `at`.

        Returns the files of their conversations; the others, and what cannot be read, are passed over.
        """
        found = []
        for file in files:
            with suppress(ContentError), self._hold_lock(), open_transcript(file.path) as stream:
                read = TranscriptRead(file, stream, None)
                if read.judge() is None and self.archive.is_forgotten(read.session_id):
                    self.archive.readmit(read.session_id, at)
                    self._tail.forget_session(read.session_id)
                    found.append(file.path)
        self._forgotten_copies = self.archive.forgotten_copies()
        return found

    def level_files(self) -> dict[str, FileState]:
        """The files whose state still holds: nothing of them is wanted but what is new."""
        files = self._tail.files().items()
        return {path: state for path, state in files if state.rules == self._rules(state) and self._is_kept(state)}

    def find_sessions(self, path: Path) -> list[str]:
        """The sessions that were read from a file, or from files below a folder."""
        wanted = str(path.absolute())
        return sorted({s.session_id for p, s in self._tail.files().items() if covers(wanted, p) and s.session_id})

    def seal(self, session_id: str) -> None:
        """Packs a closed session's objects into one a source."""
        with self._hold_lock():
            self.archive.seal(session_id)

    def _is_level(self, state: FileState, file: FoundFile) -> bool:
        is_same = state.is_untouched(file.size, file.changed_ns, file.inode) and state.rules == self._rules(state)
        return is_same and self._is_kept(state)

    def _is_kept(self, state: FileState) -> bool:
        """Whether the archive has what was read of a file; it has not where somebody moved a damaged record away."""
        return state.verdict is not Verdict.TAKEN or not state.session_id or self.archive.holds(state.session_id)

    def _rules(self, state: FileState | None) -> str:
        """What must be equal for an old verdict to hold: the choice, for files that the choice judged."""
        if state and state.verdict in (Verdict.FOREIGN, Verdict.OWN, Verdict.EXCLUDED):
            return ""
        return repr((self._settings.choice.allow, self._settings.choice.deny, self._settings.choice.only))

    def _ingest_file(self, file: FoundFile, report: ArchiveReport, *, project: str) -> None:
        with self._hold_lock(), open_transcript(file.path) as stream:
            state = self._tail.file(str(file.name))
            if state and self._is_level(state, file):
                report.unchanged += 1  # another ingester was faster
                return
            with reading(file.path):
                read = TranscriptRead(file, stream, state if state and self._is_kept(state) else None)
                refusal = None if file.base else read.judge()
            if file.base:  # it was judged by its beginning
                read.cwd = self.archive.record(read.session_id).cwd
            report.read += self._settle(read, refusal, report, project=project)

    def _settle(self, read: Read, refusal: RefusedFile | None, report: ArchiveReport, *, project: str) -> bool:
        """Takes a conversation in, or refuses it; false where another project was asked for."""
        path, is_continued = read.file.name, read.file.base > 0
        choice, own = self._settings.choice, self._projects.identify(read.cwd)
        if refusal is None and not is_continued and not choice.takes(own, read.cwd):
            is_foreign = choice.only and own != choice.only
            why = f"this memory is of the project {choice.only}" if is_foreign else "the settings leave out its project"
            refusal = RefusedFile(path, Verdict.DENIED, why)
        is_meant = not project or is_project(project, own, read.cwd, path) or project == self._names.find(own)
        if refusal is None and not is_meant:
            return False
        if refusal is None and self.archive.is_forgotten(read.session_id):
            refusal = RefusedFile(path, Verdict.EXCLUDED, LEFT_OUT)
        report.problems += read.problems
        if refusal:
            self._refuse(read, refusal, report)
        else:
            self._take(read, report)
        return True

    def _take(self, read: Read, report: ArchiveReport) -> None:
        reader = read.reader()
        masker = EntryRedactor(self._redactor)
        fresh = FreshEntries(self._tail, read.session_id, self._forgotten_copies)
        stamps = Stamps(self._settings.latest, read.file.changed_ns)
        entries = fresh.drop_known(self._mark_entries(stamps.check(reader), read))
        project = self._mask(self._projects.identify(read.cwd))
        if not report.is_dry_run:
            report.remarks += self._names.settle([project])
        name = self._names.find(project)
        called = name if name != project_name(project) else ""
        key = SessionKey(read.session_id, read.source, self._settings.machine, project, called, read.agent)
        masked = map(masker.redact, entries)
        try:
            added = sum(not one.is_link for one in masked) if report.is_dry_run else self.archive.add(key, masked)
        except Excluded:
            self._leave_out(read, report)
            return
        report.entries += added
        report.copies += fresh.dropped
        report.secrets += masker.masked
        report.bytes_read += reader.offset - read.offset
        report.bad_lines += reader.bad_lines
        report.problems += reader.problems
        report.remarks += stamps.remarks(read.file.name)
        report.skipped += reader.skipped
        if added:
            report.sessions.add(read.session_id)
        if not report.is_dry_run:
            state = read.make_state(reader, self._rules(None))
            is_held = self.archive.holds(read.session_id)  # else there was nothing in it
            self._tail.put(state if is_held else replace(state, session_id=""), fresh.keys)

    def _leave_out(self, read: Read, report: ArchiveReport) -> None:
        """Keeps a session out. What is held of it is the caller's to forget; until then the file is read again."""
        report.marked.add(read.session_id)
        refusal = RefusedFile(read.file.name, Verdict.EXCLUDED, LEFT_OUT)
        if report.is_dry_run or self.archive.holds(read.session_id):
            report.refused.append(refusal)
            return
        self.archive.forget(read.session_id, copies=self._tail.list_keys(read.session_id))
        self._tail.forget_session(read.session_id)
        self._refuse(read, refusal, report)

    def _mark_entries(self, entries: Iterable[Entry], read: Read) -> Iterator[Entry]:
        """The entries, with those of a sub-agent's file marked as such. Raises Excluded at a mark of the person."""
        for entry in entries:
            if read.is_agents:
                entry = in_side_chain(entry, read.source)
            if not entry.is_sidechain and self._is_marked(entry, read.session_id):
                raise Excluded
            yield entry

    def _is_marked(self, entry: Entry, session_id: str) -> bool:
        """Whether an entry leaves its session out: unless a person took that back after they had written it."""
        is_excluded = self._settings.choice.is_excluded_by
        if not any(part.kind in PROMPT_KINDS and is_excluded(part.text) for part in entry.parts):
            return False
        undone, written = self.archive.find_readmission(session_id), parse_time(entry)
        return undone is None or (written is not None and written > undone)

    def _refuse(self, read: Read, refusal: RefusedFile, report: ArchiveReport) -> None:
        report.refused.append(refusal)
        if report.is_dry_run or refusal.verdict is Verdict.OPEN:
            return
        state = make_state(read.file, refusal.verdict, read.session_id, read.source, refusal.reason)
        self._tail.put(replace(state, rules=self._rules(state)))

    def _reconcile(self, roots: Sequence[Path], known: dict[str, FileState], found: Sequence[FoundFile]) -> int:
        present = {str(file.path) for file in found}
        gone = [
            path
            for path, state in known.items()
            if path not in present and any(covers(str(root), path) for root in roots) and not state.is_gone
        ]
        if gone:
            self._tail.mark_gone(gone)
        return len(gone)

    def _read_copies(self) -> Iterator[tuple[str, str]]:
        for record in self.archive.records():
            with suppress(ContentError):  # a damaged object: `archive verify` names it
                for source in self.archive.sources(record.session_id):
                    for entry in self.archive.entries(record.session_id, source):
                        if entry.parts:
                            yield copy_key(entry), record.session_id

    @contextmanager
    def _hold_lock(self) -> Iterator[None]:
        """The archive's lock, with our own error where another ingester holds it."""
        try:
            self._lock.acquire()
        except filelock.Timeout as error:
            raise NeedsRepair(
                "another ingest has been working on this archive for too long",
                where=Path(self._lock.lock_file),
                remedy="Wait for it, or end it and run `oneiros ingest` again",
            ) from error
        try:
            yield
        finally:
            self._lock.release()


def _next_files(
    files: Sequence[FoundFile], report: ArchiveReport, limits: IngestLimits, progress: Callable[[int, int], None]
) -> Iterator[FoundFile]:
    """The files one by one, as far as the limits allow; behind each it is told how far this is."""
    done, every = 0, sum(file.size for file in files)
    for file in files:
        if limits.limit is not None and report.read >= limits.limit:
            return
        yield file
        done += file.size
        progress(done, every)
