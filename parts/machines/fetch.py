"""Asks another machine for what is new, and writes what it sends into the mirror.

Everything it says is held to what was asked: paths to a grammar and to their root, numbers to their range, bytes to the
room that was given. Whatever is wrong is named and left out, and the rest is taken. A file counts up to its last
checkpoint, so that an answer that breaks off loses nothing but time.
"""

import base64
import secrets
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import msgspec

from crawler.sent import SentFile
from memory_server.errors import Problem
from memory_server.escaping import escape_line
from memory_server.machine.files import UNREADABLE_JSON
from parts.machines import remote
from parts.machines.addresses import Address
from parts.machines.connection import ConnectionLost, SshConnection, noise_text
from parts.machines.mirror import Mirror
from parts.machines.wanted import WantedRoot

BATCH_BYTES = 256 << 20  # of one answer, which is all that the mirror holds at a time
FRAME_BYTES = 4 << 20
BESIDE_BYTES = 64 << 20  # of an answer, beside the contents of files
FRAME_COST = 100  # bytes that a frame counts for beside its own
MAX_FILES = 200_000  # of an answer: each takes a kilobyte of memory, however short it is
MAX_PROBLEMS = 1_000
MAX_DAYS = 5_000  # on which transcripts there were written last
MOST = 100_000  # days, and transcripts of a day: what is beyond is no count
SECONDS = 3600.0  # of one answer
SCRIPT = Path(remote.__file__)


class _Head(msgspec.Struct, frozen=True):
    root: int
    path: str
    folder: str
    base: int
    inode: int
    size: int
    changed_ns: int


class _Hello(msgspec.Struct, frozen=True):
    mark: str


class _Trouble(msgspec.Struct, frozen=True):
    path: str
    what: str


class _Closing(msgspec.Struct, frozen=True):
    cut: bool
    days: dict[int, int]
    cleanup_days: float


@dataclass(slots=True)
class Delivery:
    """What came of one request."""

    mark: str = ""  # the same for an account of a machine, whatever it is called; empty where it was not reached
    files: list[SentFile] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    noise: str = ""  # what it said before it answered: of its start-up files
    lost: str = ""  # why it could not be reached, or broke off
    is_cut: bool = False  # there is more, for which there was no room
    days: dict[int, int] = field(default_factory=dict)  # since 1970: transcripts there that were last written on it
    cleanup_days: float = 0.0  # of the client there; 0: not told
    bytes: int = 0  # sent and received


def ask(
    address: Address,
    roots: Sequence[WantedRoot],
    mirror: Mirror,
    variables: Mapping[str, str],
    *,
    batch_bytes: int = BATCH_BYTES,
    seconds: float = SECONDS,
) -> Delivery:
    """One request and its answer. Never raises for what the other side does."""
    nonce, answer = secrets.token_hex(16), Delivery()
    request = {"nonce": nonce, "seconds": int(seconds), "bytes": batch_bytes, "roots": roots}
    packed = base64.b64encode(zlib.compress(msgspec.json.encode(request))).decode("ascii")
    script = f'{SCRIPT.read_text(encoding="utf-8")}\n\nmain("{packed}")\n'.encode()
    receiver = _Receiver(address, roots, mirror, answer, batch_bytes)
    try:
        with SshConnection(address.command, script, variables, seconds=seconds) as connection:
            answer.noise = noise_text(connection.read_noise(remote.make_marker(nonce)))
            try:
                receiver.receive(connection)
            finally:
                answer.bytes = connection.bytes_sent + connection.bytes_received
    except (ConnectionLost, *UNREADABLE_JSON) as error:
        answer.lost = str(error) if isinstance(error, ConnectionLost) else "its answer is not what was asked for"
    finally:
        receiver.finish_file()
    return answer


class _Receiver:
    """Takes an answer apart."""

    def __init__(
        self, address: Address, roots: Sequence[WantedRoot], mirror: Mirror, answer: Delivery, batch_bytes: int
    ):
        self._name = address.name
        self._roots = roots
        self._mirror = mirror
        self._answer = answer
        self._room = batch_bytes + BESIDE_BYTES
        self._seen: set[tuple[int, str]] = set()
        self._file: SentFile | None = None
        self._stream: BinaryIO | None = None
        self._count = 0  # bytes of the file at hand

    def receive(self, connection: SshConnection) -> None:
        while True:
            head = connection.take(5)
            kind, size = head[:1], int.from_bytes(head[1:], "big")
            self._room -= size + FRAME_COST
            if size > FRAME_BYTES:
                raise ConnectionLost("its answer is not what was asked for")
            if self._room < 0:
                raise ConnectionLost("it sent more than was asked for")
            if kind == b"D":
                for piece in connection.pieces(size):
                    self._write(piece)
                continue
            content = connection.take(size)
            if kind == b"C":
                self._check(content)
            elif kind == b"F":
                self.finish_file()
                self._begin(msgspec.json.decode(content, type=_Head))
            elif kind == b"P":
                trouble = msgspec.json.decode(content, type=_Trouble)
                self.name(trouble.path, trouble.what)
            elif kind == b"H":
                self._answer.mark = msgspec.json.decode(content, type=_Hello).mark[:64]
            elif kind == b"E":
                end = msgspec.json.decode(content, type=_Closing, strict=False)
                self._answer.is_cut = end.cut
                days = [(day, count) for day, count in end.days.items() if 0 <= day < MOST and 0 <= count < MOST]
                self._answer.days = dict(days[:MAX_DAYS])
                self._answer.cleanup_days = end.cleanup_days if 0 < end.cleanup_days < MOST else 0.0  # nor NaN
                return
            elif kind != b"K":
                raise ConnectionLost("its answer is not what was asked for")

    def name(self, path: str, what: str, remedy: str = "Look at it there; everything else is taken in") -> None:
        """Names what somebody may want to mend."""
        if len(self._answer.problems) < MAX_PROBLEMS:
            place = escape_line(f"{self._name}:{path}"[:500])
            self._answer.problems.append(Problem(place, 1, escape_line(what[:500]), remedy, "machine"))

    def finish_file(self) -> None:
        """Keeps of the file at hand what stands before its last checkpoint; nothing where there is none."""
        file, stream = self._file, self._stream
        self._file = self._stream = None
        if file is None or stream is None:
            return
        with stream:
            if file.prefixes:
                stream.truncate(max(file.prefixes) - file.base)
                self._answer.files.append(file)
        if not file.prefixes:
            file.here.unlink()

    def _begin(self, head: _Head) -> None:
        if len(self._seen) >= MAX_FILES:
            raise ConnectionLost(f"it sent more than {MAX_FILES:,} files")
        if trouble := self._find_trouble(head):
            self.name(head.path, trouble)
            return  # what is sent of it belongs to no file and goes nowhere
        self._seen.add((head.root, head.path))
        endings = [one for one in self._roots[head.root].endings if head.path.lower().endswith(one)]
        here, self._stream = self._mirror.add(max(endings, key=len))
        self._file = SentFile(here, **msgspec.structs.asdict(head))
        self._count = 0

    def _find_trouble(self, head: _Head) -> str:
        """What is wrong with a file as it is announced; empty where nothing is."""
        if not 0 <= head.root < len(self._roots):
            return "it was not asked for"
        root = self._roots[head.root]
        known = root.known.get(head.path)
        if not remote.is_plain(head.path) or not remote.is_plain(head.folder):
            return "its name holds what no path should"
        is_below = head.path.startswith(f"{head.folder}/") and head.path.lower().endswith(root.endings)
        if not is_below or set(root.skip).intersection(head.path.removeprefix(head.folder).split("/")[:-1]):
            return "it was not asked for"
        if (head.root, head.path) in self._seen:
            return "it was sent twice"
        if head.base not in (0, known.offset if known else 0):
            return "it was sent from a place that was not asked for"
        if not all(0 <= number < 1 << 63 for number in (head.inode, head.size, head.changed_ns)):
            return "its size or time cannot be"
        return ""

    def _write(self, content: bytes) -> None:
        if self._stream is not None:
            self._stream.write(content)
            self._count += len(content)

    def _check(self, content: bytes) -> None:
        """A checkpoint: the hash of all so far. The last two are kept: a torn last line ends at the one before."""
        if self._file is None:
            return
        prefixes = self._file.prefixes
        for earlier in sorted(prefixes)[:-1]:
            del prefixes[earlier]
        prefixes[self._file.base + self._count] = content[1:]
        self._file.is_whole = content[:1] == b"\1"
