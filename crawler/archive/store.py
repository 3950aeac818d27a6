"""The archive: the redacted entries of every session, kept after Claude Code has deleted its transcripts.

    objects/ab/abcd....zst     some entries as JSON lines, in independent zstd frames; named by the hash of its content
    sessions/<id>.json         which objects make up a session, and which entry stands in which frame
    forgotten.jsonl            hashes of the sessions that must never come back
    pruned.jsonl               which sessions were moved out, into which file since when, and its fingerprint

An object is written before the session names it, both under a temporary name first, so that a kill leaves at most an
object that nobody names. Objects are never changed; a session is only appended to, until `forget` removes it whole.
What is handed in must be redacted already (`ingest.py` does that). Indices are not kept here.
"""

import datetime as dt
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec
import zstandard

from crawler.transcripts.entry import Entry
from crawler.transcripts.turns import Turn, join_turns
from memory_server.errors import ContentError, Problem
from memory_server.layers.sessions import project_name
from memory_server.machine.files import UNREADABLE_JSON, append_line, read_records, remove_file, replace_file

FRAME_BYTES = 96 * 1024  # one entry costs unpacking one frame: below a millisecond, and larger ones pack no better
LEVEL = 6
SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}\Z")
MAIN = "main"
INGEST_AGAIN = "Ingest the transcript again if it still exists; a backup of the archive has it otherwise"


class Frame(msgspec.Struct, frozen=True, array_like=True):
    """Where one zstd frame stands in its object, and how many entries it holds."""

    offset: int
    size: int
    count: int


class Segment(msgspec.Struct, frozen=True):
    """The entries of one object. `links` are the positions of those that hold no part."""

    object: str
    source: str  # "main", or the id of the sub-agent whose file it came from
    frames: tuple[Frame, ...]
    entries: tuple[str, ...]
    links: tuple[int, ...] = ()


class SessionRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the archive holds of one session."""

    session_id: str
    machine: str = ""
    project: str = ""
    called: str = ""  # the project's name, where another folder has the one that its own would give it
    agent: str = ""  # that wrote it; empty for Claude Code
    cwd: str = ""
    started: str = ""  # ISO 8601 as the client wrote it
    ended: str = ""
    segments: tuple[Segment, ...] = ()

    @property
    def project_name(self) -> str:
        """The project by the name that topics and filters give it."""
        return self.called or project_name(self.project or self.cwd)


@dataclass(frozen=True, slots=True)
class SessionKey:
    """Whose entries are being added: the session, where it ran, and which file of it they come from."""

    session_id: str
    source: str = MAIN
    machine: str = ""
    project: str = ""
    called: str = ""  # see `SessionRecord`
    agent: str = ""


class Archive:
    """The archive below one folder. Several processes may read; one at a time may write (see `ingest.py`)."""

    def __init__(self, folder: Path, hashes: Path | None = None):
        """`hashes`: a folder in which what was hashed of each session is kept; it may be deleted at any time."""
        self.folder = folder
        self._hashes = hashes
        self._objects = folder / "objects"
        self._sessions = folder / "sessions"
        self._forgotten = folder / "forgotten.jsonl"
        self._packer = zstandard.ZstdCompressor(level=LEVEL, write_content_size=True)
        self._unpacker = zstandard.ZstdDecompressor()

    def session_ids(self) -> list[str]:
        """Every session that is archived, sorted."""
        return sorted(path.stem for path in self._sessions.glob("*.json") if SAFE_ID.match(path.stem))

    def records(self) -> Iterator[SessionRecord]:
        """What is held of each session; those whose record is damaged are left out, and `verify` names them."""
        for session_id in self.session_ids():
            with suppress(ContentError):
                yield self.record(session_id)

    def holds(self, session_id: str) -> bool:
        """Whether anything is held of a session, damaged or not."""
        return bool(SAFE_ID.match(session_id)) and self.record_file(session_id).exists()

    def record(self, session_id: str) -> SessionRecord:
        """What is held of a session; an empty record for one that is not archived."""
        path = self.record_file(session_id)
        try:
            record = msgspec.json.decode(path.read_bytes(), type=SessionRecord)
        except FileNotFoundError:
            return SessionRecord(session_id)
        except (*UNREADABLE_JSON, OSError) as error:
            raise _make_record_error(path) from error
        if record.session_id != session_id:
            raise _make_record_error(path)
        return record

    def add(self, key: SessionKey, entries: Iterable[Entry]) -> int:
        """Appends those entries that the session does not have yet; returns how many hold speech or a tool's work.

        Entries are known by id. The memory needed is that of the new entries packed, not of their text.
        """
        if self.is_forgotten(key.session_id):
            return 0
        record = self.record(key.session_id)
        spoken, linked = collect_ids(record)
        writer = _ObjectWriter(self._packer)
        first = last = cwd = ""
        for entry in entries:
            if entry.id in spoken or (entry.is_link and entry.id in linked):
                continue
            (linked if entry.is_link else spoken).add(entry.id)
            writer.write(entry)
            cwd = cwd or entry.cwd
            first = min(filter(None, (first, entry.time)), default="")
            last = max(last, entry.time)
        if not writer.entries:
            return 0
        segment = self._store(writer, key.source)
        self._replace_record(
            SessionRecord(
                session_id=key.session_id,
                machine=record.machine or key.machine,
                project=record.project or key.project,
                called=record.called if record.segments else key.called,
                agent=record.agent or key.agent,
                cwd=record.cwd or cwd,
                started=min(filter(None, (record.started, first)), default=""),
                ended=max(record.ended, last),
                segments=(*record.segments, segment),
            )
        )
        return len(segment.entries) - len(segment.links)

    def seal(self, session_id: str) -> None:
        """Packs the many small objects of a session that grew into one object a source, with the same entries."""
        record = self.record(session_id)
        sources = self.sources(session_id)
        if len(record.segments) == len(sources):
            return
        segments = []
        for source in sources:
            writer = _ObjectWriter(self._packer)
            for entry in self.entries(session_id, source):
                writer.write(entry)
            segments.append(self._store(writer, source))
        self._replace_record(msgspec.structs.replace(record, segments=tuple(segments)))
        self._remove_objects({s.object for s in record.segments} - {s.object for s in segments})

    def sources(self, session_id: str) -> list[str]:
        """The files a session is made of: `main` first, then the ids of its sub-agents, sorted."""
        found = {segment.source for segment in self.record(session_id).segments}
        return sorted(found, key=lambda source: (source != MAIN, source))

    def entries(self, session_id: str, source: str = MAIN) -> Iterator[Entry]:
        """All entries of one source of a session, in the order they were read."""
        for segment in self.record(session_id).segments:
            if segment.source == source:
                yield from self._unpack(segment)

    def entry(self, session_id: str, entry_id: str) -> Entry:
        """One entry by its id, or by a prefix of it that fits one entry only. Unpacks a single frame.

        Raises ContentError where there is none, or more than one.
        """
        found = []
        for segment in self.record(session_id).segments:
            for position, known in enumerate(segment.entries):
                if known == entry_id:
                    return self._read_entry(segment, position)
                if known.startswith(entry_id):
                    found.append((segment, position))
        ids = {segment.entries[position] for segment, position in found}
        if len(ids) != 1:
            what = f"entry {entry_id} of session {session_id} is " + ("ambiguous" if ids else "not in the archive")
            raise ContentError(what, remedy="Give more of the id" if ids else "Read the session with `oneiros drill`")
        return self._read_entry(*found[0])

    def turns(self, session_id: str) -> Iterator[Turn]:
        """The turns of a session, those of its main conversation first, then those of each sub-agent's own file."""
        for name in self.sources(session_id):
            yield from join_turns(lambda name=name: self.entries(session_id, name))  # type: ignore[misc]

    def hash_session(self, session_id: str) -> str:
        """A hash of everything held of a session, the same however many steps it was read in.

        It is kept with that of the names of its objects, which never change, since it costs unpacking them. Raises
        ContentError where one is missing or torn.
        """
        record = self.record(session_id)
        if self._hashes is None or not record.segments:
            return self._hash_entries(session_id)
        objects, file = hash_objects(record), self._hashes / session_id
        with suppress(OSError, ValueError):
            of, kept = file.read_text(encoding="ascii").split()
            if of == objects and len(kept) == len(of):
                self._check_objects(record)
                return kept
        found = self._hash_entries(session_id)
        with suppress(OSError):  # of a memory that may only be read
            replace_file(file, f"{objects} {found}")
            if self.is_forgotten(session_id) or not self.holds(session_id):  # it went while it was hashed
                self._forget_hash(session_id)
        return found

    def _forget_hash(self, session_id: str) -> None:
        if self._hashes is not None:
            remove_file(self._hashes / session_id)

    def _hash_entries(self, session_id: str) -> str:
        state = hashlib.blake2b(digest_size=16)
        for source in self.sources(session_id):
            state.update(source.encode() + b"\0")
            for entry in self.entries(session_id, source):
                state.update(msgspec.json.encode(entry))
        return state.hexdigest()

    def _check_objects(self, record: SessionRecord) -> None:
        for segment in record.segments:
            path, last = self._object_path(segment.object), segment.frames[-1]
            if not path.is_file() or path.stat().st_size != last.offset + last.size:
                raise _make_damage_error(path)

    def verify(self) -> list[Problem]:
        """Reads every object again; reports what is missing, damaged, or named by no session."""
        problems, named = [], set()
        for session_id in self.session_ids():
            try:
                segments = self.record(session_id).segments
            except ContentError as error:
                problems.append(self._problem(self.record_file(session_id), error.what, error.remedy))
                continue
            for segment in segments:
                named.add(segment.object)
                problems += self._verify_segment(segment)
        for path in sorted(self._objects.glob("*/*.zst")):
            if path.stem not in named:
                problems.append(
                    self._problem(path, "no session names this object", "The next ingest removes it", "archive-orphan")
                )
        return problems

    def forget(self, session_id: str, *, copies: Iterable[str] = ()) -> bool:
        """Removes a session and keeps a mark that stops it from coming back; returns whether it was there.

        `copies` are the keys by which its entries would be recognised in a fork of it.
        """
        self._add_mark(_Forgotten(hash_session_id(session_id), tuple(sorted(copies))))
        path = self.record_file(session_id)
        self._forget_hash(session_id)
        if not path.exists():
            return False
        try:
            own = {segment.object for segment in self.record(session_id).segments}
        except ContentError:
            own = self._objects_there()  # nothing tells its own from those of other damaged records: all of them go
        self._remove_objects(own, without=session_id)
        remove_file(path)
        return True

    def take_out(self, session_id: str) -> None:
        """Removes a session without a mark; the caller has written it elsewhere. The record goes first."""
        own = {segment.object for segment in self.record(session_id).segments}
        remove_file(self.record_file(session_id))
        self._forget_hash(session_id)
        self._remove_objects(own)

    def list_objects(self, record: SessionRecord) -> list[Path]:
        """The files that hold the entries of a session."""
        return [self._object_path(name) for name in dict.fromkeys(segment.object for segment in record.segments)]

    def readmit(self, session_id: str, at: datetime) -> None:
        """Lets a forgotten session come back, whatever its words said up to this moment."""
        self._add_mark(_Forgotten(hash_session_id(session_id), undone=at))

    def is_forgotten(self, session_id: str) -> bool:
        mark = self._marks().get(hash_session_id(session_id))
        return mark is not None and mark.undone is None

    def find_readmission(self, session_id: str) -> datetime | None:
        """When a person undid the forgetting of a session; None where it was never forgotten, or is."""
        mark = self._marks().get(hash_session_id(session_id))
        return mark.undone if mark else None

    def forgotten_copies(self) -> set[str]:
        """Keys of entries that must not come back in a fork either."""
        return {key for mark in self._marks().values() for key in mark.copies}

    def remove_orphans(self) -> int:
        """Removes objects that no session names, which only a kill leaves behind; returns how many.

        Where a record is damaged nothing is removed: what it names may be wanted when it was restored.
        """
        is_whole = len(list(self.records())) == len(self.session_ids())
        orphans = self._remove_objects(self._objects_there()) if is_whole else 0
        for stray in self.folder.rglob("*.tmp"):
            stray.unlink(missing_ok=True)
        return orphans

    def _objects_there(self) -> set[str]:
        return {path.stem for path in self._objects.glob("*/*.zst")}

    def _store(self, writer: "_ObjectWriter", source: str) -> Segment:
        segment, packed = writer.finish(source)
        path = self._object_path(segment.object)
        if not path.exists():
            replace_file(path, packed)
        return segment

    def _replace_record(self, record: SessionRecord) -> None:
        replace_file(self.record_file(record.session_id), msgspec.json.encode(record))

    def _unpack(self, segment: Segment, frames: Sequence[Frame] | None = None) -> Iterator[Entry]:
        """The entries of an object, or of these frames of it."""
        path = self._object_path(segment.object)
        try:
            with path.open("rb") as stream:
                for frame in segment.frames if frames is None else frames:
                    stream.seek(frame.offset)
                    yield from self._decode(stream.read(frame.size))
        except (OSError, zstandard.ZstdError, msgspec.MsgspecError) as error:
            raise _make_damage_error(path) from error

    def _read_entry(self, segment: Segment, position: int) -> Entry:
        for frame in segment.frames:
            if position < frame.count:
                return list(self._unpack(segment, [frame]))[position]
            position -= frame.count
        raise _make_damage_error(self._object_path(segment.object))

    def _decode(self, packed: bytes) -> Iterator[Entry]:
        return map(_decode_entry, self._unpacker.decompress(packed).splitlines())

    def _verify_segment(self, segment: Segment) -> Iterator[Problem]:
        path = self._object_path(segment.object)
        state, ids = hashlib.blake2b(digest_size=16), []
        try:
            for entry in self._unpack(segment):
                state.update(msgspec.json.encode(entry) + b"\n")
                ids.append(entry.id)
        except ContentError as error:
            yield self._problem(path, error.what)
            return
        if state.hexdigest() != segment.object or tuple(ids) != segment.entries:
            yield self._problem(path, "the content is not what its name says")

    def _problem(self, path: Path, what: str, remedy: str = INGEST_AGAIN, rule: str = "archive-damaged") -> Problem:
        return Problem(str(path.relative_to(self.folder)), 1, what, remedy, rule)

    def _remove_objects(self, names: set[str], *, without: str = "") -> int:
        """Removes objects unless another session names them too; returns how many."""
        others = (record for record in self.records() if record.session_id != without)
        gone = names - {segment.object for record in others for segment in record.segments}
        for name in gone:
            self._object_path(name).unlink(missing_ok=True)
        return len(gone)

    def _add_mark(self, mark: "_Forgotten") -> None:
        append_line(self._forgotten, msgspec.json.encode(mark))

    def _marks(self) -> dict[str, "_Forgotten"]:
        """The last word on every session that was ever forgotten, by its hash."""
        return {mark.session: mark for mark in read_records(self._forgotten, _Forgotten)}

    def _object_path(self, name: str) -> Path:
        return self._objects / name[:2] / f"{name}.zst"

    def record_file(self, session_id: str) -> Path:
        """Where the record of a session lies, whether it is there or not."""
        if not SAFE_ID.match(session_id):
            raise ContentError(f"`{session_id}` is no session id", remedy="List the sessions with `oneiros status`")
        return self._sessions / f"{session_id}.json"


class _Forgotten(msgspec.Struct, frozen=True, omit_defaults=True):
    session: str  # a hash: the mark must not itself tell what was forgotten
    copies: tuple[str, ...] = ()
    undone: datetime | None = None  # when a person let the session come back


class _ObjectWriter:
    """Packs entries into frames while they come."""

    def __init__(self, packer: zstandard.ZstdCompressor):
        self.entries: list[str] = []
        self._links: list[int] = []
        self._frames: list[Frame] = []
        self._packed = bytearray()
        self._open = bytearray()
        self._open_count = 0
        self._hash = hashlib.blake2b(digest_size=16)
        self._packer = packer

    def write(self, entry: Entry) -> None:
        line = msgspec.json.encode(entry) + b"\n"
        self._hash.update(line)
        if entry.is_link:
            self._links.append(len(self.entries))
        self.entries.append(entry.id)
        self._open += line
        self._open_count += 1
        if len(self._open) >= FRAME_BYTES:
            self._close_frame()

    def finish(self, source: str) -> tuple[Segment, bytes]:
        self._close_frame()
        segment = Segment(
            object=self._hash.hexdigest(),
            source=source,
            frames=tuple(self._frames),
            entries=tuple(self.entries),
            links=tuple(self._links),
        )
        return segment, bytes(self._packed)

    def _close_frame(self) -> None:
        if not self._open_count:
            return
        frame = self._packer.compress(bytes(self._open))
        self._frames.append(Frame(len(self._packed), len(frame), self._open_count))
        self._packed += frame
        self._open.clear()
        self._open_count = 0


def collect_ids(record: SessionRecord) -> tuple[set[str], set[str]]:
    """The ids a session has: those of entries that say something, and those of mere links."""
    spoken: set[str] = set()
    linked: set[str] = set()
    for segment in record.segments:
        links = set(segment.links)
        for position, entry_id in enumerate(segment.entries):
            (linked if position in links else spoken).add(entry_id)
    return spoken, linked


def hash_objects(record: SessionRecord) -> str:
    """A hash of which objects a session is made of; it changes when the session grows or is packed anew."""
    names = "\n".join(f"{segment.source} {segment.object}" for segment in record.segments)
    return hashlib.blake2b(names.encode(), digest_size=16).hexdigest()


def hash_session_id(session_id: str) -> str:
    return hashlib.blake2b(session_id.encode(), digest_size=16, person=b"forgotten").hexdigest()


def resolve_session(archive: Archive, wanted: str) -> str:
    """The id of the one archived session that begins so. Raises ContentError where there is none, or more than one."""
    found = [session_id for session_id in archive.session_ids() if session_id.startswith(wanted)]
    if wanted in found or len(found) == 1:
        return wanted if wanted in found else found[0]
    if found:
        raise ContentError(f"{len(found)} archived sessions begin with `{wanted}`", remedy="Give more of the id")
    remedy = "Recall shows the ids below its hits" if archive.session_ids() else "Run `oneiros ingest` first"
    raise ContentError(f"no archived session is `{wanted}`", remedy=remedy)


def _make_record_error(path: Path) -> ContentError:
    return ContentError(
        "the archive's record of this session cannot be read",
        where=path,
        remedy="Restore it from a backup, or move it away: the next `oneiros ingest` reads its transcripts again",
    )


def _make_damage_error(path: Path) -> ContentError:
    return ContentError(
        "this object of the archive is missing or damaged", where=path, remedy="Run `oneiros archive verify`"
    )


_decode_entry = msgspec.json.Decoder(Entry).decode


class PruneNote(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of `pruned.jsonl`."""

    at: dt.datetime
    file: str
    fingerprint: str
    sessions: tuple[str, ...] = ()
    back: bool = False  # they were brought back


class PrunedSessions:
    """What was moved out of one archive."""

    def __init__(self, archive: Archive):
        self.archive = archive
        self.file = archive.folder / "pruned.jsonl"

    def notes(self) -> list[PruneNote]:
        """What was moved out and back, the oldest first."""
        return list(read_records(self.file, PruneNote))

    def where(self, session_id: str) -> PruneNote | None:
        """Where a session lies that was moved out; None where it was not, or came back."""
        about = [note for note in self.notes() if session_id in note.sessions]
        return about[-1] if about and not about[-1].back and not self.archive.holds(session_id) else None

    def session_ids(self) -> set[str]:
        """The sessions that lie in files."""
        return {one for note in self.notes() for one in note.sessions if self.where(one)}
