"""What a daemon holds of a root while it runs: the lock, the sockets, the token, and the file that names them."""

import contextlib
import fcntl
import json
import os
import secrets
import signal
import socket
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memory_server.errors import NeedsRepair
from memory_server.machine.files import make_folder, read_json, replace_file
from memory_server.root.paths import MemoryRoot
from memory_server.root.places import require_memory
from oneiros.light.endpoint import (
    DaemonUnreachable,
    daemon_state,
    ensure_private,
    ensure_state,
    is_running,
    lock_file,
    runtime_folder,
    socket_path,
    state_folder,
    states_folder,
)

BACKLOG = 256
MIN_TOKEN_CHARS = 32
END_SECONDS = 20.0


class AlreadyRunning(Exception):
    """Another daemon serves this root."""


@dataclass(frozen=True, slots=True)
class Listening:
    """The sockets of a daemon, open and listening."""

    root: Path
    state: Path
    mcp: socket.socket
    http: socket.socket
    token: str  # opens the HTTP side
    lock: int  # the descriptor of the daemon's lock

    def is_locked(self) -> bool:
        """Whether lock, token and sockets are still on the disk: without them nobody reaches this daemon, or another
        one takes its place.
        """
        sockets = (Path(one.getsockname()) for one in (self.mcp, self.http))
        try:
            return all(file.exists() for file in (self.state / "token", *sockets)) and os.path.samestat(
                os.fstat(self.lock), Path(lock_file(str(self.root))).stat()
            )
        except OSError:
            return False


def take_daemon_lock(root: Path) -> int:
    """Takes the root's daemon lock; its descriptor. It is kept until this process has ended, and freed by the system.

    Whoever finds it free finds no process either. Raises AlreadyRunning, and NeedsRepair as `require_memory` does.
    """
    require_memory(MemoryRoot(root, Path(states_folder(os.environ))))
    lock = Path(lock_file(str(root)))
    make_folder(lock.parent)
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise AlreadyRunning from error
    return descriptor


@contextlib.contextmanager
def listening(root: Path, lock: int) -> Iterator[Listening]:
    """The daemon's sockets, and the file that names them. Call under the lock: what lies there is stale."""
    folder = runtime_folder(os.environ)
    ensure_private(folder)
    state = Path(state_folder(os.environ, str(root)))
    ensure_state(str(state))
    token = ensure_token(state / "token")
    paths = {kind: Path(socket_path(os.environ, str(root), kind)) for kind in ("mcp", "http")}
    opened = {}
    try:
        for kind, path in paths.items():
            path.unlink(missing_ok=True)
            opened[kind] = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            opened[kind].bind(str(path))
            path.chmod(0o600)
            opened[kind].listen(BACKLOG)
        write_state(state, **{kind: str(path) for kind, path in paths.items()})
        yield Listening(root, state, opened["mcp"], opened["http"], token, lock)
    finally:
        for kind, open_socket in opened.items():
            open_socket.close()
            paths[kind].unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            (state / "daemon.json").unlink()


def ensure_token(file: Path) -> str:
    """The secret of a memory's HTTP side; made, readable for its owner alone, where there is none.

    Raises DaemonUnreachable where others may read it.
    """
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        pass
    else:
        with os.fdopen(descriptor, "w", encoding="ascii") as stream:
            stream.write(secrets.token_urlsafe(32) + "\n")
    found = file.lstat()
    is_private = stat.S_ISREG(found.st_mode) and not found.st_mode & 0o077 and found.st_uid == os.getuid()
    token = file.read_text(encoding="ascii", errors="replace").strip() if is_private else ""
    if len(token) < MIN_TOKEN_CHARS:
        raise DaemonUnreachable(f"{file} is damaged or readable for others. Delete it; the next start makes another.")
    return token


def write_state(folder: Path, **more: object) -> None:
    """Notes what clients may want to know of this process; earlier notes of it are kept."""
    file = folder / "daemon.json"
    state: dict[str, object] = {"pid": os.getpid(), "started": time.time()}
    old = read_json(file, dict[str, object], {})
    state |= old if old.get("pid") == os.getpid() else {}
    replace_file(file, json.dumps(state | more))


def end_daemon(root: MemoryRoot) -> int:
    """Ends the daemon that runs, once what is under way is answered; its process. Raises NeedsRepair where it stays."""
    process = daemon_state(str(root.state)).get("pid")
    if not isinstance(process, int):
        raise NeedsRepair("the daemon has not said which process it is", where=root.path, remedy="Try it in a second")
    os.kill(process, signal.SIGTERM)
    end = time.monotonic() + END_SECONDS
    while is_running(str(root.path)):
        if time.monotonic() > end:
            raise NeedsRepair(f"process {process} does not end", remedy=f"End it with `kill -9 {process}`")
        time.sleep(0.05)
    return process
