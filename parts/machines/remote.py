"""Runs on the other machine: `ssh HOST python3 -IS -` reads it from its input, with `main("...")` as its last line.

It writes nothing there and needs Python 3.8 and the standard library alone. Its answer is frames: a letter, the length
in four bytes, then so many bytes. What comes before the marker is noise of that machine's own start-up files. A file is
sent from where it was read to last, if the hash of all before that place is the same, else from its start. Where a
file is cut off, all before its last checkpoint counts.
"""

from __future__ import annotations

import base64
import glob
import hashlib
import json
import os
import re
import signal
import stat
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

PIECE = 1 << 20  # bytes read, hashed and sent at once
QUIET_BYTES = 64 << 20  # hashed at most without a sign of life
PLAIN = re.compile(r"(~|)(/[^/\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]{1,255}){1,40}")
GIT_SECONDS = 60


def main(packed: str) -> None:
    """Answers one request."""
    request = json.loads(zlib.decompress(base64.b64decode(packed)))
    signal.alarm(request["seconds"])  # whatever happens, nothing is left running here
    Sender(request, sys.stdout.buffer).send()


def make_marker(nonce: str) -> bytes:
    """What the answer begins with; it stands nowhere in the request, so that an echo of that does not pass for it."""
    return b"\noneiros:" + hashlib.sha256(nonce.encode()).hexdigest().encode() + b"\n"


def is_plain(path: str) -> bool:
    """Whether a path, from the home or whole, is one that can be noted and shown."""
    return len(path) <= 2000 and bool(PLAIN.fullmatch(path)) and not {".", ".."}.intersection(path.split("/"))


def machine_mark(home: str) -> str:
    """The same for an account of a machine whatever its names are."""
    for file in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        try:
            with open(file, encoding="ascii") as stream:
                name = stream.read(100).strip()
        except (OSError, ValueError):
            continue
        if name:
            break
    else:
        name = os.uname().nodename
    return hashlib.sha256("\0".join((name, str(os.getuid()), home)).encode()).hexdigest()[:32]


class Sender:
    """One answer while it is sent."""

    def __init__(self, request: dict[str, Any], out: BinaryIO):
        self.request = request
        self.out = out
        self.home = os.path.expanduser("~")
        self.left = request["bytes"]
        self.is_cut = False
        self.days: dict[str, int] = {}  # of each day, how many transcripts were last written on it

    def send(self) -> None:
        self.out.write(make_marker(self.request["nonce"]))
        self.tell("H", {"mark": machine_mark(self.home)})
        for number, root in enumerate(self.request["roots"]):
            self.send_root(number, root)
        self.tell("E", {"cut": self.is_cut, "days": self.days, "cleanup_days": self.cleanup_days()})
        self.out.flush()

    def frame(self, kind: str, content: bytes | memoryview = b"") -> None:
        self.out.write(struct.pack(">cI", kind.encode(), len(content)))
        self.out.write(content)

    def tell(self, kind: str, fields: dict[str, Any]) -> None:
        self.frame(kind, json.dumps(fields).encode())
        self.out.flush()

    def problem(self, path: str, what: str) -> None:
        path = self.shorten_path(path).encode("utf-8", "backslashreplace").decode("utf-8")  # a name may be no text
        self.tell("P", {"path": path, "what": what})

    def shorten_path(self, path: str) -> str:
        return "~" + path[len(self.home) :] if path.startswith(self.home + "/") else path

    def send_root(self, number: int, root: dict[str, Any]) -> None:
        """What is new below one root; conversations before sub-agents, older files before newer."""
        found = []
        for path, folder in self.list_files(root):
            try:
                seen = os.lstat(path)
            except OSError as error:
                self.problem(path, "it cannot be read (" + str(error.strerror) + ")")
                continue
            if self.is_refused(path, seen, root):
                continue
            if root["counts"]:
                day = str(int(seen.st_mtime // 86400))
                self.days[day] = self.days.get(day, 0) + 1
            is_agents = os.path.basename(path).startswith("agent-") or "subagents" in path.split("/")
            found.append((is_agents, seen.st_mtime_ns, path, folder, seen))
        sent = 0
        for _, changed, path, folder, seen in sorted(found, key=lambda one: one[:3]):
            known = root["known"].get(self.shorten_path(path))
            if changed < root["since"] or (known and is_level(known, seen)):
                continue
            if self.left <= 0 or sent == root["limit"]:
                self.is_cut = self.is_cut or self.left <= 0
                return
            try:
                self.send_file(number, path, folder, known)
                sent += 1
            except OSError as error:
                self.problem(path, "it cannot be read (" + str(error.strerror) + ")")

    def list_files(self, root: dict[str, Any]) -> Iterator[tuple[str, str]]:
        """The files below a root that end as asked for, each with its folder."""
        for pattern in root["folders"]:
            whole = glob.escape(self.home) + pattern[1:] if pattern.startswith("~/") else pattern
            folders = [path for path in sorted(glob.glob(whole)) if os.path.isdir(path)]
            if not folders and root["must_be_there"]:
                self.tell("P", {"path": pattern, "what": "there is no such folder"})
            for folder in folders:
                names = self.list_git_files(folder, root)
                for path in self.walk_files(folder, root) if names is None else names:
                    if path.lower().endswith(tuple(root["endings"])):
                        yield path, folder

    def list_git_files(self, folder: str, root: dict[str, Any]) -> list[str] | None:
        """What git knows of or would add; None where it is not to be asked, outside a repository and without git."""
        if not root["git"]:
            return None
        command = [word.replace("{folder}", folder) for word in root["git"]]
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=GIT_SECONDS)
        except (OSError, subprocess.SubprocessError):
            return None
        if done.returncode:
            return None
        names = sorted({os.fsdecode(name) for name in done.stdout.split(b"\0") if name})
        return [os.path.join(folder, name) for name in names if not set(root["skip"]) & set(name.split("/")[:-1])]

    def walk_files(self, top: str, root: dict[str, Any]) -> Iterator[str]:
        def note(error: OSError) -> None:
            self.problem(str(error.filename), "this folder cannot be read (" + str(error.strerror) + ")")

        for folder, folders, names in os.walk(top, onerror=note):
            for name in folders:
                if os.path.islink(os.path.join(folder, name)):
                    self.problem(os.path.join(folder, name), "a link; what it leads to is not read")
            folders[:] = sorted(
                name for name in folders if name not in root["skip"] and (root["hidden"] or not name.startswith("."))
            )
            for name in sorted(names):
                yield os.path.join(folder, name)

    def is_refused(self, path: str, seen: os.stat_result, root: dict[str, Any]) -> bool:
        """Whether a file is not to be sent; why is told."""
        most = max((size for ending, size in root["most"].items() if path.lower().endswith(ending)), default=0)
        if not is_plain(self.shorten_path(path)):
            what = "its name holds what no path should"
        elif stat.S_ISLNK(seen.st_mode):
            what = "a link; what it leads to is not read"
        elif not stat.S_ISREG(seen.st_mode):
            what = "it is no file, whatever its name says"
        elif most and seen.st_size > most:
            what = "longer than " + str(most // 1024) + " KB"
        else:
            return bool(most and not seen.st_size)  # nothing in it is not worth a word
        self.problem(path, what)
        return True

    def send_file(self, number: int, path: str, folder: str, known: list[Any] | None) -> None:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            seen = os.fstat(descriptor)
            hashed, base = self.hash_prefix(descriptor, known)
            place = {"root": number, "path": self.shorten_path(path), "folder": self.shorten_path(folder), "base": base}
            self.tell("F", dict(place, inode=seen.st_ino, size=seen.st_size, changed_ns=seen.st_mtime_ns))
            self.send_content(descriptor, hashed, seen.st_size - base, is_packed=path.endswith(".xz"))
        finally:
            os.close(descriptor)

    def hash_prefix(self, descriptor: int, known: list[Any] | None) -> tuple[hashlib.blake2b, int]:
        """The hash of what was read of a file earlier, and how much that is: nothing where it was rewritten."""
        hashed = hashlib.blake2b(digest_size=16)
        offset, prefix = (known[3], known[4]) if known else (0, "")
        left = offset
        while left:
            piece = os.read(descriptor, min(PIECE, left))
            if not piece:
                break
            hashed.update(piece)
            left -= len(piece)
            if left % QUIET_BYTES < PIECE:
                self.tell("K", {})
        if not left and offset and hashed.hexdigest() == prefix:
            return hashed, offset
        os.lseek(descriptor, 0, os.SEEK_SET)
        return hashlib.blake2b(digest_size=16), 0

    def send_content(self, descriptor: int, hashed: hashlib.blake2b, left: int, *, is_packed: bool) -> None:
        """The bytes up to where the file ended when it was opened; a checkpoint behind the last line of each piece."""
        while left and self.left > 0:
            piece = os.read(descriptor, min(PIECE, left, self.left))
            if not piece:
                return  # somebody cut it short
            left -= len(piece)
            self.left -= len(piece)
            cut = 0 if is_packed else piece.rfind(b"\n") + 1
            for part, ends_line in ((memoryview(piece)[:cut], True), (memoryview(piece)[cut:], False)):
                if part:
                    hashed.update(part)
                    self.frame("D", part)
                    if ends_line:
                        self.frame("C", b"\0" + hashed.digest())
        if left:
            self.is_cut = True
        else:
            self.frame("C", b"\1" + hashed.digest())

    def cleanup_days(self) -> float:
        """After how many days the client deletes a transcript here, where its settings say so."""
        try:
            with open(os.path.join(self.home, ".claude", "settings.json"), encoding="utf-8") as stream:
                days = float(json.load(stream)["cleanupPeriodDays"])
                return days if 0 < days < 100000 else 0
        except (OSError, ValueError, KeyError, TypeError):
            return 0


def is_level(known: list[Any], seen: os.stat_result) -> bool:
    """Whether a file is as it was, or was refused after enough of it had been read to say so for good."""
    inode, size, changed, _, _, is_settled = known
    if (inode, size, changed) == (seen.st_ino, seen.st_size, seen.st_mtime_ns):
        return True
    return bool(is_settled) and inode == seen.st_ino and seen.st_size >= size
