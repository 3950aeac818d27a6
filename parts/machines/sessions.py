"""The transcripts of another machine: what of them is wanted, and what was sent as the ingest reads it."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from crawler.archive.discovery import NO_TRANSCRIPTS, SUFFIXES, FoundFile, SentPart
from crawler.sent import SentFile
from crawler.transcripts.tail import FileState, Verdict
from parts.machines.wanted import Known, WantedRoot

FOLDER = "~/.claude/projects"
SETTLED_BYTES = 1 << 20  # a file that was refused with so much in it is not sent again because it grew


def build_wanted_transcripts(
    files: Mapping[str, FileState], machine: str, *, since: datetime | None = None, limit: int | None = None
) -> WantedRoot:
    """All transcripts of a machine but for what was read of these files, which are known by machine and path."""
    return WantedRoot(
        folders=(FOLDER,),
        endings=SUFFIXES,
        skip=tuple(sorted(NO_TRANSCRIPTS)),
        counts=True,
        since=int(since.timestamp() * 1e9) if since else 0,
        limit=-1 if limit is None else limit,
        known={path.removeprefix(f"{machine}:"): _make_known(state) for path, state in files.items()},
    )


def _make_known(state: FileState) -> Known:
    stamp = (state.inode, state.size, state.changed_ns)
    if state.verdict is not Verdict.TAKEN:
        return Known(*stamp, is_settled=state.size > SETTLED_BYTES)
    if not (state.session_id and state.prefix):
        return Known(*stamp)  # nothing in it was kept, or it is packed: a change of it is read from the start
    return Known(*stamp, offset=state.offset, prefix=state.prefix.hex())


def make_found_file(sent: SentFile, machine: str) -> FoundFile:
    """A transcript that was sent. One that was cut off is as long as what is here, so that the rest is asked for."""
    size = sent.size if sent.is_whole else max(sent.prefixes)
    part = SentPart(Path(f"{machine}:{sent.path}"), sent.base, sent.prefixes)
    return FoundFile(sent.here, sent.inode, size, sent.changed_ns, part)
