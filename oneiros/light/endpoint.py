"""Where the daemon of a memory root listens, and how a small process reaches it or starts it.

Relay, hook, client and daemon agree here. The standard library alone, and little of it: a relay is started with every
session, and each import costs every one of them. What is decided here about roots is what
`memory_server.root.paths` decides; a test compares the two.
"""

from __future__ import annotations

import fcntl
import os
import select
import sys
import time

TYPE_CHECKING = False  # as in typing, whose import alone costs a hook more than all it does; so would these two
if TYPE_CHECKING:
    import _socket
    import socket
    from collections.abc import Mapping

START_SECONDS = 20.0  # a cold disk and a busy machine; the daemon listens after 0.1 s otherwise
SHARED_FOLDER = "/tmp"  # noqa: S108  what lies there is used only where it is private and ours: `is_private`
MAX_SOCKET_PATH = 100  # bytes: Linux takes 107, macOS 103
MAX_LOG_BYTES = 2_000_000  # beyond, the daemon's log starts anew with the next daemon


class DaemonUnreachable(Exception):
    """No daemon answers, and none could be started; the text is a sentence for a person."""


# -- which memory ---------------------------------------------------------------------------------------------------


def find_root(variables: Mapping[str, str], working_folder: str, home: str) -> str:
    """The memory root that is meant, whether it exists or not, without links, as `memory_server.root.paths` has it.

    Raises DaemonUnreachable where ONEIROS_ROOT names one that came with a repository and is not trusted.
    """
    own = os.path.realpath(os.path.join(home, ".oneiros", "memory"))
    if named := variables.get("ONEIROS_ROOT"):
        if named == "~" or named.startswith("~/"):
            meant = os.path.realpath(os.path.join(home, named[1:].lstrip("/")))
        else:
            meant = os.path.realpath(os.path.join(working_folder, named))
        if meant != own and is_of_others(meant) and meant not in read_trusted_roots(variables, home):
            raise DaemonUnreachable(
                f"ONEIROS_ROOT names a memory that came with a repository, and you have not trusted it: {meant}."
                f" Look at it, then `oneiros trust {meant}`."
            )
        return meant
    trusted: set[str] | None = None
    folder = working_folder
    while True:
        for place in (os.path.join(folder, "memory"), folder):
            if os.path.isfile(os.path.join(place, "MEMORY.md")):
                if os.path.realpath(place) == own:
                    return own
                if trusted is None:
                    trusted = read_trusted_roots(variables, home)
                if os.path.realpath(place) in trusted:
                    return os.path.realpath(place)
        parent = os.path.dirname(folder)
        if parent == folder:
            return own
        folder = parent


def is_of_others(root: str) -> bool:
    """Whether a memory may have come with a repository. See `memory_server.root.paths.is_of_others`."""
    if not is_memory(root):
        return False
    place = root
    while not os.path.lexists(os.path.join(place, ".git")):
        if place == os.path.dirname(place):
            return False
        place = os.path.dirname(place)
    try:
        with open(os.path.join(place, ".git", "config"), "rb") as stream:
            settings = stream.read().lower()
    except OSError:
        return True
    return place != root or b"[remote" in settings or b"[include" in settings


def read_trusted_roots(variables: Mapping[str, str], home: str) -> set[str]:
    """The memories that the person has let take effect, with links resolved."""
    try:
        with open(os.path.join(settings_folder(variables, home), "config.toml"), "rb") as stream:
            text = stream.read()
    except OSError:
        return set()
    if b"trusted_roots" not in text:
        return set()
    import tomllib  # noqa: PLC0415  a third of a hook's time, and few trust a memory beside their own

    try:
        roots = tomllib.loads(text.decode()).get("trusted_roots", [])
    except ValueError:
        return set()
    return {os.path.realpath(root) for root in roots if isinstance(root, str)} if isinstance(roots, list) else set()


def settings_folder(variables: Mapping[str, str], home: str) -> str:
    """Where the person's own settings lie. See `memory_server.settings.person_settings_file`."""
    return os.path.join(variables.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "oneiros")


def is_memory(root: str) -> bool:
    """Whether a memory has been made there."""
    return os.path.isfile(os.path.join(root, "MEMORY.md"))


# -- where it listens -----------------------------------------------------------------------------------------------


def runtime_folder(variables: Mapping[str, str]) -> str:
    """A short private folder for sockets: below `$XDG_RUNTIME_DIR` where that fits, else below `/tmp`.

    Anybody can take a name below `/tmp` first; then it lies beside the states, in a longer path.
    """
    given = variables.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(given) and len(os.fsencode(given)) < MAX_SOCKET_PATH - 30 and os.path.isdir(given):
        return os.path.join(given, "oneiros")
    short = f"{SHARED_FOLDER}/oneiros-{os.getuid()}"
    if os.path.lexists(short) and not is_private(short):
        return os.path.join(states_folder(variables), "run")
    return short


def ensure_private(folder: str) -> None:
    """Makes the folder, and refuses one that another user made or can enter. Raises DaemonUnreachable."""
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
    except FileExistsError:
        pass
    except OSError as error:
        raise DaemonUnreachable(f"{folder} cannot be made ({error.strerror}). Set XDG_RUNTIME_DIR.") from error
    if not is_private(folder):
        raise DaemonUnreachable(f"{folder} is not a private folder of this account. Remove it or set XDG_RUNTIME_DIR.")


def is_private(folder: str) -> bool:
    """Whether a folder is this account's and closed to every other."""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return (found.st_mode & 0o170077) == 0o040000 and found.st_uid == os.getuid()


def socket_path(variables: Mapping[str, str], root: str, kind: str) -> str:
    """The socket of a root's daemon; `kind`: `mcp` for lines of JSON-RPC, `http` for requests."""
    import hashlib  # noqa: PLC0415  one of the slower imports; a client that is told the path saves it

    name = hashlib.sha256(os.fsencode(os.path.realpath(root))).hexdigest()[:16]
    return os.path.join(runtime_folder(variables), f"{name}.{kind}")


# -- the person's state of a root -----------------------------------------------------------------------------------


def state_folder(variables: Mapping[str, str], root: str) -> str:
    """The person's own folder for a root, whether it exists or not. See `memory_server.root.paths.MemoryRoot.state`."""
    try:
        from _sha2 import sha256  # type: ignore[import-not-found]  # noqa: PLC0415  as in hashlib, which loads OpenSSL
    except ImportError:
        try:
            from _sha256 import sha256  # type: ignore[import-not-found]  # noqa: PLC0415  its name up to Python 3.11
        except ImportError:
            from hashlib import sha256  # noqa: PLC0415
    try:
        inode = os.stat(root).st_ino
    except OSError:
        inode = 0
    key: str = sha256(b"%s\0%d" % (os.fsencode(os.path.realpath(root)), inode)).hexdigest()[:16]
    return os.path.join(states_folder(variables), key)


def states_folder(variables: Mapping[str, str]) -> str:
    """What holds the states of all roots of a person. See `memory_server.root.paths.state_home`."""
    named = variables.get("XDG_STATE_HOME", "")
    home = named if named.startswith("/") else os.path.join(_home(variables), ".local", "state")
    return os.path.join(home, "oneiros")


def _home(variables: Mapping[str, str]) -> str:
    return variables.get("HOME") or os.path.expanduser("~")


def ensure_state(folder: str) -> None:
    """Makes the state of a root, with the folders above it. Raises DaemonUnreachable where it is not ours alone."""
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
    except OSError as error:
        raise DaemonUnreachable(f"{folder} cannot be made ({error.strerror}). Set XDG_STATE_HOME.") from error
    if not is_private(folder):
        raise DaemonUnreachable(f"{folder} is not a private folder of this account. Run `chmod 700` on it.")


def daemon_state(state: str | os.PathLike[str]) -> dict[str, object]:
    """What the daemon last wrote of itself: pid, started, mcp, http, port, version; empty where nothing is known."""
    import json  # noqa: PLC0415

    try:
        with open(os.path.join(state, "daemon.json"), "rb") as stream:
            found = json.load(stream)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def lock_file(root: str) -> str:
    """What a daemon holds while it runs. It goes with the indices, so that whoever removes them is noticed."""
    return os.path.join(root, ".oneiros", "daemon.lock")


def is_running(root: str) -> bool:
    """Whether a daemon holds the root's daemon lock."""
    try:
        descriptor = os.open(lock_file(root), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


# -- reaching it ----------------------------------------------------------------------------------------------------


def connect_daemon(variables: Mapping[str, str], root: str, kind: str) -> socket.socket | None:
    """A connection to the running daemon; None where there is none."""
    if found := _open_socket(socket_path(variables, root, kind)):
        return found
    address = daemon_state(state_folder(variables, root)).get(kind)  # started with another runtime folder
    return _open_socket(address) if isinstance(address, str) else None


def _open_socket(path: str) -> socket.socket | None:
    if not is_private(os.path.dirname(path)):
        return None
    import socket  # noqa: PLC0415  a hook reaches a running daemon without it

    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        found.settimeout(5.0)  # a full backlog blocks
        found.connect(path)
    except OSError:
        found.close()
        return None
    found.settimeout(None)
    return found


def start_daemon(variables: Mapping[str, str], root: str, kind: str, seconds: float = START_SECONDS) -> socket.socket:
    """A connection to the daemon, which is started if need be. Raises DaemonUnreachable.

    Of many processes that want one at the same time a single one starts it; the others wait for its socket.
    """
    if found := connect_daemon(variables, root, kind):
        return found
    if not is_memory(root):
        raise DaemonUnreachable(f"there is no memory at {root}. Make one with `oneiros init`.")
    folder = runtime_folder(variables)
    ensure_private(folder)
    lock = os.open(socket_path(variables, root, "start"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                time.sleep(0.02)  # another process is starting it
            else:
                if found := connect_daemon(variables, root, kind):
                    return found
                spawn(variables, root, max(0.1, end - time.monotonic()))
                fcntl.flock(lock, fcntl.LOCK_UN)
            if found := connect_daemon(variables, root, kind):
                return found
    finally:
        os.close(lock)
    raise DaemonUnreachable(f"the daemon did not start in time. See {log_file(variables, root)}.")


def spawn(variables: Mapping[str, str], root: str, seconds: float) -> None:
    """Starts a daemon that outlives this process, and waits until it listens. Raises DaemonUnreachable.

    It is a grandchild in a session of its own, so that neither a signal to our group nor our end reaches it and nobody
    has to wait for it. Over a pipe it says that it listens, or why it cannot.
    """
    ensure_state(state_folder(variables, root))
    log = log_file(variables, root)
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    # -P: the working folder of a client must not bring modules of its own
    command = [sys.executable, "-P", "-m", "oneiros.daemon.main", "--ready", str(writing), root]
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            if os.fork() == 0:
                _become(command, variables, log)
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    message = _read_until_closed(reading, seconds)
    if message != b"ok":
        raise DaemonUnreachable(message.decode("utf-8", "replace") or f"the daemon ended at once. See {log}.")


def log_file(variables: Mapping[str, str], root: str) -> str:
    """Where the daemon says what it does."""
    return os.path.join(state_folder(variables, root), "daemon.log")


def _become(command: list[str], variables: Mapping[str, str], log_path: str) -> None:
    """Replaces this process by the daemon, with nothing of the client's left open."""
    log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    if os.fstat(log).st_size > MAX_LOG_BYTES:
        os.ftruncate(log, 0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.execve(command[0], command, dict(variables))  # noqa: S606  ourselves, no shell


def _read_until_closed(descriptor: int, seconds: float) -> bytes:
    received = b""
    end = time.monotonic() + seconds
    try:
        while (left := end - time.monotonic()) > 0:
            if not select.select([descriptor], [], [], left)[0]:
                break
            part = os.read(descriptor, 4096)
            if not part:
                return received
            received += part
    finally:
        os.close(descriptor)
    return received or b"the daemon did not say in time that it listens."


# -- one request ----------------------------------------------------------------------------------------------------


def request(
    connection: _socket.socket, token: str, method: str, path: str, body: bytes = b"", seconds: float | None = None
) -> tuple[int, bytes]:
    """Sends one HTTP request to the daemon and closes the connection: status and body of the answer. Raises OSError.

    Written by hand, since importing an HTTP client costs more than the whole request; the daemon's answers are whole.
    """
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    chunks = []
    try:
        connection.settimeout(seconds)
        connection.sendall(head.encode("ascii") + body)
        while part := connection.recv(65_536):
            chunks.append(part)
    finally:
        connection.close()
    top, blank, content = b"".join(chunks).partition(b"\r\n\r\n")
    words = top.split(None, 2)
    if not blank or len(words) < 2 or not words[0].startswith(b"HTTP/") or not words[1].isdigit():
        raise OSError("the daemon gave no answer before it closed the connection")
    return int(words[1]), content


def read_token(state: str | os.PathLike[str]) -> str:
    """The secret that opens the daemon's HTTP side; empty where there is none."""
    try:
        with open(os.path.join(state, "token"), encoding="ascii") as stream:
            return stream.read().strip()
    except (OSError, ValueError):
        return ""
