"""What would be lost if the client cleaned up: transcripts that the archive does not hold, or not to their end."""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from crawler.archive.append import IngestSettings
from crawler.archive.choice import Projects
from crawler.archive.discovery import FoundFile, find_files, find_session_id, find_transcripts
from crawler.archive.files import with_log
from crawler.archive.store import Archive, collect_ids
from crawler.sources.agent import AgentSource, list_source_files
from crawler.transcripts.tail import FileState, TailState, Verdict
from memory_server.completeness import SkipKind, Skipped
from memory_server.errors import ContentError
from memory_server.machine.files import UNREADABLE_JSON, read_json

CLEANUP_DAYS = 30  # after which Claude Code deletes a transcript, unless its settings say otherwise
SOON_DAYS = 7
HEAD_BYTES = 256 * 1024  # of a transcript, in which a record names its folder
TAIL_BYTES = 256 * 1024  # of a transcript, in which its last records stand
WORKING_FOLDER = re.compile(rb'"cwd"\s*:\s*("(?:[^"\\]|\\.)*")')


@dataclass(frozen=True, slots=True)
class Waiting:
    """Transcripts on this machine that the archive does not hold yet, and those that the client deletes this week."""

    not_archived: int
    expiring: int
    bytes: int  # of those not archived
    folders: int  # in which they lie: one a project
    of: str = "this machine"  # whose transcripts were counted: a project's alone, where the memory is one project's
    left_out: int = 0  # by the person's settings and marks
    skipped: tuple[Skipped, ...] = ()  # what cannot be read

    def with_other_machine(self, other: "Waiting") -> "Waiting":
        """These, and those of another machine, which no client here deletes."""
        return replace(
            self,
            not_archived=self.not_archived + other.not_archived,
            bytes=self.bytes + other.bytes,
            folders=self.folders + other.folders,
            left_out=self.left_out + other.left_out,
            skipped=(*self.skipped, *other.skipped),
        )


class _ClientSettings(msgspec.Struct):
    cleanup_days: float = msgspec.field(default=CLEANUP_DAYS, name="cleanupPeriodDays")


def cleanup_days(client_folder: Path) -> float:
    """After how many days without use the client deletes a transcript, by its own settings below `~/.claude`."""
    days = read_json(client_folder / "settings.json", _ClientSettings, _ClientSettings()).cleanup_days
    return days if 0 < days < 100_000 else CLEANUP_DAYS


def count_waiting(
    paths: Iterable[Path],
    settings: IngestSettings,
    *,
    now: datetime,
    keep_days: float = CLEANUP_DAYS,
    stores: Sequence[tuple[AgentSource, Sequence[Path]]] = (),
) -> Waiting:
    """How many transcripts below the paths would be lost if the client cleaned up; and conversations of other agents
    in the `stores` that these keep.

    For a memory of one project alone its own are counted, and no file of another is named; of what another agent wrote
    nobody knows the project before it is read, so all of that counts.
    """
    known: Mapping[str, FileState] = {}
    if settings.state.parent.is_dir():  # to look makes nothing where no memory is
        with closing(TailState(settings.state, settings.machine)) as tail:
            known = tail.files()
    archive, forgotten = Archive(settings.archive), set[str]()
    found = find_transcripts(paths)
    waiting = [file for file in found.files if file.size and not _is_settled(known.get(str(file.path)), file)]
    if settings.archive.is_dir():
        new = [(file, _read_last(file.path)) for file in waiting if str(file.path) not in known]
        forgotten = {last.session_id for _, last in new if archive.is_forgotten(last.session_id)}
        done = {file.path for file, last in new if last.session_id in forgotten or _holds(archive, last)}
        waiting = [file for file in waiting if file.path not in done]
    states = [state for file in found.files if (state := known.get(str(file.path))) and _is_settled(state, file)]
    if only := settings.choice.only:
        projects = Projects(dict(settings.aliases))
        waiting = [file for file in waiting if projects.identify(read_working_folder(file.path)) == only]
    own = {file.path.parent for file in waiting}
    own |= {Path(state.path).parent for state in states if state.verdict is Verdict.TAKEN}
    left_out = {Verdict.EXCLUDED} if only else {Verdict.EXCLUDED, Verdict.DENIED}
    of_agents = find_files(file for source, places in stores for file in list_source_files(source, places))
    unread = [file for file in map(with_log, of_agents.files) if not _is_kept(known.get(str(file.path)), file)]
    deadline = (now + timedelta(days=SOON_DAYS - keep_days)).timestamp()
    return Waiting(
        not_archived=len(waiting) + len(unread),
        expiring=sum(file.changed_ns / 1e9 < deadline for file in waiting),
        bytes=sum(file.size for file in (*waiting, *unread)),
        folders=len({file.path.parent for file in (*waiting, *unread) if not file.is_agents}),
        of="this project" if only else "this machine",
        left_out=len({state.session_id for state in states if state.verdict in left_out} | forgotten),
        skipped=(
            *(
                Skipped(SkipKind.TRANSCRIPT, one.path if not only or Path(one.path).parent in own else "")
                for one in (*found.problems, *of_agents.problems)
            ),
            *(
                Skipped(SkipKind.LINE, state.path, state.unread)
                for state in known.values()
                if state.unread and not (only and state.verdict is Verdict.DENIED)
            ),
        ),
    )


def read_working_folder(transcript: Path) -> str:
    """The folder in which a session was at work, as its first records say; empty where they say none."""
    try:
        with transcript.open("rb") as stream:
            found = WORKING_FOLDER.search(stream.read(HEAD_BYTES))
        return msgspec.json.decode(found[1], type=str) if found else ""
    except (OSError, *UNREADABLE_JSON):
        return ""


class _Last(msgspec.Struct):
    """The last record of a transcript that has an id; empty where none is found."""

    id: str = msgspec.field(default="", name="uuid")
    session_id: str = msgspec.field(default="", name="sessionId")


def _read_last(transcript: Path) -> _Last:
    found = _Last()
    try:
        with transcript.open("rb") as stream:
            stream.seek(max(0, transcript.stat().st_size - TAIL_BYTES))
            lines = stream.read(TAIL_BYTES).splitlines()
    except OSError:
        lines = []
    for line in reversed(lines):
        with suppress(*UNREADABLE_JSON):
            if (record := msgspec.json.decode(line, type=_Last)).id:
                found = record
                break
    found.session_id = find_session_id(transcript, found.session_id, b"")
    return found


def _holds(archive: Archive, last: _Last) -> bool:
    """Whether the archive has a session up to this record: all that tells it where `.oneiros/` was deleted."""
    try:
        return any(last.id in ids for ids in collect_ids(archive.record(last.session_id)))
    except ContentError:
        return False


def _is_settled(state: FileState | None, file: FoundFile) -> bool:
    """Whether nothing more of a transcript is wanted: the archive has it, or the person left it out."""
    return _is_kept(state, file) or (state is not None and state.verdict in (Verdict.EXCLUDED, Verdict.DENIED))


def _is_kept(state: FileState | None, file: FoundFile) -> bool:
    return state is not None and state.is_untouched(file.size, file.changed_ns, file.inode)
