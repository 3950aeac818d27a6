"""Bundles: files of a memory in one tar, packed with zstd, with the hash of each in a manifest at its end.

    root/...             files of the root        state/...    files of the person's state
    git/history.bundle   what git knows of it     manifest.json   size and sha256 of every file that belongs to it

A bundle is read as if a stranger had made it: nothing but ordinary files under plain names, each once, with the size
and hash that the manifest says, is taken, and nothing is written before all of it was read. A manifest may name files
that lie in an earlier bundle. Who may restore what is decided above.
"""

import datetime as dt
import hashlib
import re
import tarfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import msgspec
import zstandard

from memory_server.errors import ContentError
from memory_server.machine.files import replaced, write_new
from memory_server.root.paths import MemoryRoot

MANIFEST = "manifest.json"
LEVEL = 3  # archived turns are packed already
MOST_MANIFEST_BYTES = 256_000_000
PIECE_BYTES = 1 << 20
FORBIDDEN = frozenset({"", ".", "..", ".git", ".oneiros"})  # parts of a name
ODD = re.compile(r"[\x00-\x1f\x7f\\]")


class FileNote(msgspec.Struct, frozen=True, array_like=True):
    """What a manifest says of one file."""

    size: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True):
    """What belongs to a bundle."""

    kind: str  # backup, export
    version: int
    made: str  # ISO 8601
    files: dict[str, FileNote]
    notes: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle that was read from end to end."""

    file: Path
    manifest: Manifest
    held: frozenset[str]  # the files that lie in it; the manifest may name more
    fingerprint: str  # of the manifest, and so of every file


class BackupNote(msgspec.Struct, frozen=True):
    """A line of `backups.jsonl`."""

    at: dt.datetime
    kind: str
    file: str
    fingerprint: str


def notes_in(file: Path) -> list[BackupNote]:
    """The backups that were made, the oldest first."""
    found = []
    with suppress(FileNotFoundError):
        for line in file.read_bytes().splitlines():
            with suppress(msgspec.MsgspecError):
                found.append(msgspec.json.decode(line, type=BackupNote))
    return found


def backup_days(root: MemoryRoot, today: dt.date) -> int | None:
    """How old the last backup is; None where none was made."""
    notes = notes_in(root.backups)
    return (today - notes[-1].at.date()).days if notes else None


def fingerprint_of(manifest: bytes) -> str:
    """What a person can compare: 80 bits, in groups."""
    digits = hashlib.sha256(manifest).hexdigest()[:20]
    return "-".join(digits[at : at + 5] for at in range(0, 20, 5))


def write_bundle(
    file: Path,
    kind: str,
    made: str,
    contents: Iterable[tuple[str, bytes]],
    *,
    known: Mapping[str, FileNote] | None = None,
    notes: Mapping[str, str] | None = None,
) -> Bundle:
    """Writes a bundle, reads it back and compares; only then it has its name. `known`: what lies in another one."""
    files: dict[str, FileNote] = {}
    held = set()
    with replaced(file) as stream:
        packer = zstandard.ZstdCompressor(level=LEVEL, threads=-1)
        with packer.stream_writer(stream, closefd=False) as packed, tarfile.open(fileobj=packed, mode="w|") as tar:
            for name, content in contents:
                files[name] = FileNote(len(content), hashlib.sha256(content).hexdigest())
                if known is None or known.get(name) != files[name]:
                    held.add(name)
                    _add(tar, name, content)
            manifest = msgspec.json.encode(Manifest(kind, 1, made, files, dict(notes or {})))
            _add(tar, MANIFEST, manifest)
        stream.flush()
        written = read_bundle(Path(stream.name), kind)
        if written.manifest.files != files or written.held != held:
            raise ContentError("what was written cannot be read back", where=file, remedy="Choose another disk")
    return Bundle(file, written.manifest, written.held, written.fingerprint)


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(content), 0o600
    tar.addfile(member, BytesIO(content))


def read_bundle(file: Path, kind: str) -> Bundle:
    """Reads a bundle from end to end. Raises ContentError where it is not what its manifest says."""
    found: dict[str, FileNote] = {}
    manifest = b""
    for name, parts in _members(file):
        if manifest or name in found:
            raise _odd(file, f"{name} stands behind the manifest or twice")
        if name == MANIFEST:
            manifest = _bounded(parts, file)
            continue
        size, digest = 0, hashlib.sha256()
        for part in parts:
            size += len(part)
            digest.update(part)
        found[name] = FileNote(size, digest.hexdigest())
    try:
        said = msgspec.json.decode(manifest, type=Manifest)
    except msgspec.MsgspecError as error:
        raise _odd(file, "it has no manifest") from error
    if (said.kind, said.version) != (kind, 1):
        raise _odd(file, f"it is no {kind} of this version")
    for name in said.files:
        _require_plain(file, name)
    if wrong := sorted(name for name, note in found.items() if said.files.get(name) != note):
        raise _odd(file, f"{wrong[0]} is not what the manifest says")
    return Bundle(file, said, frozenset(found), fingerprint_of(manifest))


def unpack(bundles: Sequence[Bundle], places: Mapping[str, Path], leave_out: Collection[str] = ()) -> None:
    """Writes the files of the last bundle's manifest, from whichever bundle holds them, below new folders.

    `places`: the folder for each first part of a name; other names are left out, as is what `leave_out` names. Raises
    ContentError where a file lies in none of the bundles, before anything is written.
    """
    wanted = {name: note for name, note in bundles[-1].manifest.files.items() if name not in leave_out}
    holder = {name: one for one in bundles for name in one.held if one.manifest.files[name] == wanted.get(name)}
    if missing := sorted(wanted.keys() - holder.keys()):
        raise ContentError(
            f"{len(missing)} files lie in an earlier backup, such as {missing[0]}",
            where=bundles[-1].file,
            remedy="Name that one too, before this: --restore FIRST --restore NEXT",
        )
    for bundle in bundles:
        for name, parts in _members(bundle.file):
            first, _, rest = name.partition("/")
            if holder.get(name) is bundle and first in places:
                write_new(places[first] / rest, _checked(bundle.file, name, wanted[name], parts))


def _checked(file: Path, name: str, note: FileNote, parts: Iterator[bytes]) -> Iterator[bytes]:
    """The parts of a file, as long as they may be what was read before."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
        yield part
    if digest.hexdigest() != note.sha256:
        raise _odd(file, f"{name} changed while it was read")


def _members(file: Path) -> Iterator[tuple[str, Iterator[bytes]]]:
    """Name and content of every member. Raises ContentError for whatever is no ordinary file under a plain name."""
    try:
        with (
            file.open("rb") as raw,
            zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(raw) as stream,
            tarfile.open(fileobj=stream, mode="r|") as tar,
        ):
            for member in tar:
                if member.type != tarfile.REGTYPE or member.sparse is not None or member.linkname:
                    raise _odd(file, f"{member.name!r} is no ordinary file")
                if member.name != MANIFEST:
                    _require_plain(file, member.name)
                content = tar.extractfile(member)
                assert content is not None  # of an ordinary file
                yield member.name, iter(lambda content=content: content.read(PIECE_BYTES), b"")  # type: ignore[misc]  # a default binds it
    except (OSError, EOFError, tarfile.TarError, zstandard.ZstdError, UnicodeError, ValueError) as error:
        raise _odd(file, f"it cannot be read ({error})") from error


def _bounded(parts: Iterator[bytes], file: Path) -> bytes:
    content = b""
    for part in parts:
        content += part
        if len(content) > MOST_MANIFEST_BYTES:
            raise _odd(file, "its manifest is too long")
    return content


def _require_plain(file: Path, name: str) -> None:
    parts = name.split("/")
    is_plain = len(parts) > 1 and not FORBIDDEN & {part.casefold() for part in parts} and not ODD.search(name)
    if not is_plain or parts[0] not in ("root", "state", "git"):
        raise _odd(file, f"{name[:100]!r} is no name of a memory's file")


def _odd(file: Path, what: str) -> ContentError:
    return ContentError(f"the file was not made by oneiros, or is damaged: {what}", where=file, remedy="Take another")
