"""Bundles: files of a memory in one tar, packed with zstd, with the hash of each in a manifest at its end.

    root/...             files of the root        state/...    files of the person's state
    git/history.bundle   what git knows of it     manifest.json   size and sha256 of every file that belongs to it

A bundle is read as if a stranger had made it: nothing but ordinary files under plain names, each once, with the size
and hash that the manifest says, is taken, and nothing is written before all of it was read. A manifest may name files
that lie in an earlier bundle. Who may restore what is decided above.
"""

import hashlib
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BufferedReader, BufferedWriter
from pathlib import Path
from typing import Any

import msgspec
import zstandard

from memory_server.errors import ContentError, UsageError
from memory_server.machine.files import UNREADABLE_JSON, new_file, open_replacement

MANIFEST = "manifest.json"
# level 3, since archived turns are packed already; parts so small that they are packed while others are read
PACKING = zstandard.ZstdCompressionParameters.from_level(3, threads=-1, job_size=1 << 20)
MOST_MANIFEST_BYTES = 256_000_000
PIECE_BYTES = 1 << 20
BLOCK, MOST_NAME_BYTES = 512, 100  # of a tar
NUL = bytes(1)
RIGHTS = b"0000600" + NUL + 2 * (b"0000000" + NUL)  # and owner and group
TIME = b"0" * 11 + NUL
REST = NUL + b" 0" + bytes(100) + b"ustar" + NUL + b"00" + bytes(BLOCK - 265)  # behind the sum, from its end on
SUM_OF_THE_REST = sum(RIGHTS + TIME + REST) + 7 * ord(" ")  # the sum itself counts as blanks
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


def require_new(root: Path, file: Path) -> None:
    """Raises UsageError where a bundle cannot be written: something is there, or it would lie in the memory."""
    if os.path.lexists(file):
        raise UsageError(f"{file} is there already", remedy="Choose another name; nothing is replaced")
    if file.resolve().is_relative_to(root):
        raise UsageError(f"{file} lies in the memory", remedy="Choose a folder outside of it")
    if not file.parent.is_dir():
        raise UsageError(f"{file.parent} is no folder", remedy="Make it first, or choose another one")


def make_fingerprint(manifest: bytes) -> str:
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
    written = hashlib.sha256()

    def put(block: bytes) -> None:
        written.update(block)
        out.write(block)

    with open_replacement(file) as stream:
        packer = zstandard.ZstdCompressor(compression_params=PACKING)
        with packer.stream_writer(stream, closefd=False, write_size=PIECE_BYTES) as packed:
            out: Any = BufferedWriter(packed, PIECE_BYTES)
            for name, content in contents:
                _require_plain(file, name)
                files[name] = note = FileNote(len(content), hashlib.sha256(content).hexdigest())
                if known is None or known.get(name) != note:
                    held.add(name)
                    put(_member(shorten_name(name), content))
            manifest = Manifest(kind, 1, made, files, dict(notes or {}))
            encoded = msgspec.json.encode(manifest)
            put(_member(MANIFEST, encoded) + bytes(2 * BLOCK))
            out.flush()
            out.detach()
        stream.flush()
        if _hash_tar(Path(stream.name)) != written.digest():
            raise ContentError("what was written cannot be read back", where=file, remedy="Choose another disk")
    return Bundle(file, manifest, frozenset(held), make_fingerprint(encoded))


def _hash_tar(file: Path) -> bytes:
    """The hash of the tar in a bundle; empty where it cannot be read."""
    read = hashlib.sha256()
    with suppress(ContentError), _open_tar(file) as source:
        while part := source.read(PIECE_BYTES):
            read.update(part)
        return read.digest()
    return b""


def shorten_name(name: str) -> str:
    """The name of a member; one that is too long for the header of a tar is replaced by its hash."""
    fits = len(name.encode()) <= MOST_NAME_BYTES
    return name if fits else f"root/long/{hashlib.sha256(name.encode()).hexdigest()[:32]}"


def _member(name: str, content: bytes) -> bytes:
    return b"".join((header(name.encode(), len(content)), content, bytes(-len(content) % BLOCK)))


def header(name: bytes, size: int) -> bytes:
    """The header of an ordinary file in a tar (POSIX ustar), of nobody and no time: one for each name and size."""
    digits = b"%011o" % max(0, size)
    total = sum(name) + sum(digits) + SUM_OF_THE_REST
    return name.ljust(100, NUL) + RIGHTS + digits + NUL + TIME + b"%06o" % total + REST


def read_bundle(file: Path, kind: str) -> Bundle:
    """Reads a bundle from end to end. Raises ContentError where it is not what its manifest says."""
    found: dict[str, FileNote] = {}
    manifest = b""
    for name, size, parts in _members(file):
        if manifest or name in found:
            raise _odd(file, f"{name} stands behind the manifest or twice")
        if name == MANIFEST:
            manifest = _join_parts(parts, file)
            continue
        hasher = hashlib.sha256()
        for part in parts:
            hasher.update(part)
        found[name] = FileNote(size, hasher.hexdigest())
    try:
        listed = msgspec.json.decode(manifest, type=Manifest)
    except UNREADABLE_JSON as error:
        raise _odd(file, "it has no manifest") from error
    if (listed.kind, listed.version) != (kind, 1):
        raise _odd(file, f"it is no {kind} of this version")
    for name in listed.files.keys() - found.keys():
        _require_plain(file, name)
    held = {name for name in listed.files if shorten_name(name) in found}
    if len(held) != len(found) or any(listed.files[name] != found[shorten_name(name)] for name in held):
        raise _odd(file, "its files are not what the manifest says")
    return Bundle(file, listed, frozenset(held), make_fingerprint(manifest))


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
        named = {shorten_name(name): name for name in bundle.held}
        for member, _, parts in _members(bundle.file):
            name = named.get(member, member)
            first, _, rest = name.partition("/")
            if holder.get(name) is bundle and first in places:
                write_new(places[first] / rest, _check_parts(bundle.file, name, wanted[name], parts))


def _check_parts(file: Path, name: str, note: FileNote, parts: Iterator[bytes]) -> Iterator[bytes]:
    """The parts of a file, as long as they may be what was read before."""
    hasher = hashlib.sha256()
    for part in parts:
        hasher.update(part)
        yield part
    if hasher.hexdigest() != note.sha256:
        raise _odd(file, f"{name} changed while it was read")


def _members(file: Path) -> Iterator[tuple[str, int, Iterator[bytes]]]:
    """Name, size and content of every member; the content is to be read before the next one, and is passed over else.

    A header is taken only where it is bit for bit the one that we write: no link, no folder, no device has such a one.
    Raises ContentError for any other, and for what was cut.
    """
    with _open_tar(file) as source:
        while (head := source.read(BLOCK)) != bytes(BLOCK):
            name, size = head[:100].rstrip(b"\0"), _octal(head[124:135])
            if head != header(name, size):
                raise _odd(file, f"{name.decode('utf-8', 'replace')!r} is no ordinary file")
            if name != MANIFEST.encode():
                _require_plain(file, name.decode("utf-8"))
            parts = _parts(source, size)
            yield name.decode("utf-8"), size, parts
            for _ in parts:
                pass
            if source.read(-size % BLOCK) != bytes(-size % BLOCK):
                raise _odd(file, f"something stands behind {name.decode('utf-8')}")
        if source.read(BLOCK + 1) != bytes(BLOCK):
            raise _odd(file, "something stands behind its end")


@contextmanager
def _open_tar(file: Path) -> Iterator[Any]:
    """The tar in a bundle, as a stream. Raises ContentError where it cannot be read to its end."""
    unpacker = zstandard.ZstdDecompressor(max_window_size=1 << 27)
    try:
        with file.open("rb") as raw, unpacker.stream_reader(raw, read_size=PIECE_BYTES) as stream:
            yield BufferedReader(stream, PIECE_BYTES)
    except FileNotFoundError as error:
        raise ContentError("there is no such file", where=file, remedy="Name one that `oneiros` wrote") from error
    except OSError as error:
        what = f"the file cannot be read ({error.strerror})"
        raise ContentError(what, where=file, remedy="Name one that `oneiros` wrote") from error
    except (EOFError, zstandard.ZstdError, ValueError) as error:
        raise _odd(file, f"it cannot be read ({error})") from error


def _octal(digits: bytes) -> int:
    return int(digits, 8) if digits.isdigit() else -1


def _parts(source: Any, left: int) -> Iterator[bytes]:
    while left > 0:
        part = source.read(min(left, PIECE_BYTES))
        if not part:
            raise EOFError("it was cut")
        left -= len(part)
        yield part


def _join_parts(parts: Iterator[bytes], file: Path) -> bytes:
    content = b""
    for part in parts:
        content += part
        if len(content) > MOST_MANIFEST_BYTES:
            raise _odd(file, "its manifest is too long")
    return content


def _require_plain(file: Path, name: str) -> None:
    parts = name.casefold().split("/")
    is_plain = len(parts) > 1 and FORBIDDEN.isdisjoint(parts) and not ODD.search(name)
    if not is_plain or not name.startswith(("root/", "state/", "git/")):
        raise _odd(file, f"{name[:100]!r} is no name of a memory's file")


def _odd(file: Path, what: str) -> ContentError:
    return ContentError(f"the file was not made by oneiros, or is damaged: {what}", where=file, remedy="Take another")


def write_new(file: Path, parts: Iterable[bytes]) -> None:
    """Writes a file that is not there yet, in a folder of one's own. Whoever does so flushes all at the end."""
    with new_file(file) as stream:
        for part in parts:
            stream.write(part)
