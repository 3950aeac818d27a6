"""`oneiros-hook EVENT`: what a command hook of Claude Code runs.

A hook must never stand in the way: whatever happens it ends within its time with exit code 0 and nothing on stderr, and
where the daemon is missing, slow or answers garbage it says nothing but a line in the log.

PreToolUse is decided here, without a daemon, by the part that judges calls. SessionStart asks the daemon and starts it,
since the session's own server does so anyway; where it has no answer, another program looks for the changes that a
person must be told of. SessionEnd leaves a note, and the daemon does the rest behind it. Other events ask a running
daemon.

A hook pays for each import at each event: with the modules `json`, `signal` and `socket` it took 2.2 times as long as
an empty program and a request, without them 1.1 times. So what the client tells is passed on as it is, and the C parts
of the latter two are used by themselves.
"""

import _signal  # type: ignore[import-not-found]  # typeshed knows the module above it alone
import _socket
import os
import select
import sys
import time

from oneiros.light.client_folders import read_seen_folders
from oneiros.light.endpoint import (
    DaemonUnreachable,
    ensure_state,
    find_root,
    is_memory,
    is_private,
    read_token,
    read_trusted_roots,
    request,
    start_daemon,
    state_folder,
)

SECONDS = {"SessionStart": 4.5, "SessionEnd": 1.0}  # the client allows 5 s; a plugin's SessionEnd is killed after 1.3
OTHER_SECONDS = 2.5  # of 3
START_SECONDS = 4.0  # for a daemon that has to be started first
PATIENCE_SECONDS = 1.5  # with which a session's start waits for it alone
LAST_SECONDS = 0.2  # of a session's start, to take down what was found without it
NOBODY_LOOKED = (
    b'{"systemMessage":"oneiros cannot tell whether approved files were changed without you. `oneiros report` tells, or'
    b' `oneiros doctor` why not."}'
)
MAX_INPUT = 1 << 20  # bytes of what the client tells
MAX_CALL = 1 << 24  # of a tool call that is to be judged: with the whole text of a file in it
MAX_OUTPUT = 40_000  # bytes; of more than 10,000 characters the client shows a file's path instead
MAX_LOG_BYTES = 200_000
GUARDED = (  # what a denial can be about: our names, and what removes or moves whole folders; as in bin/oneiros-guard
    *(b"topics", b"lessons", b"memory", b"ontology", b"proposals", b"sessions/", b".git/", b"oneiros"),
    *(b"rm -", b"mv ", b"-delete", b"git clean", b"~/.", b"HOME", b"parts.", b"parts/", b"parts import"),
)
NO_GUARD = "This may touch your memory, and no guard is installed that tells."
NOT_JUDGED = "This may touch the person's memory, and {why}. Do it in smaller steps, with full paths."


def run() -> None:
    """The console script. Never returns: the process ends with 0."""
    event = sys.argv[1] if len(sys.argv) > 1 else ""
    os.umask(0o077)
    try:
        _signal.signal(_signal.SIGALRM, lambda *_: _end_late(event))
        _signal.setitimer(_signal.ITIMER_REAL, SECONDS.get(event, OTHER_SECONDS))
        if text := answer(event):
            os.write(1, text)
    except BaseException as error:  # noqa: BLE001  the outermost frame: a failing hook would block the person's typing
        _log(f"{event} failed: {error!r}")
    os._exit(0)  # no flushing, no late complaint about a closed pipe


def answer(event: str) -> bytes:
    """What is to be said about an event; empty where there is nothing."""
    payload = _read_input(MAX_CALL if event == "PreToolUse" else MAX_INPUT)
    if event == "PreToolUse":
        folded = payload.lower()  # names in capitals too: a disk may take one for the other
        return _judge_call(payload) if any(mark in payload or mark in folded for mark in GUARDED) else b""
    if len(payload) > MAX_INPUT:
        return b""
    root = _root()
    if not payload or not is_memory(root):
        return b""
    if event == "SessionEnd":
        _note_end(payload, state_folder(os.environ, root))
    if event == "SessionStart":
        return _start_of_session(root, payload)
    connection = _connect_daemon(root)
    return b"" if connection is None else _ask_daemon(connection, root, event, payload)


def _start_of_session(root: str, payload: bytes) -> bytes:
    """The daemon's answer; where it gives none, the warning about changes that nobody answered for."""
    end = time.monotonic() + _signal.getitimer(_signal.ITIMER_REAL)[0]
    read_seen_folders(os.environ)
    other = OtherWay(root, end)
    _signal.signal(_signal.SIGALRM, lambda *_: other.grow_impatient())
    _signal.setitimer(_signal.ITIMER_REAL, PATIENCE_SECONDS)
    try:
        connection = start_daemon(os.environ, root, "http", START_SECONDS)
        reply = _ask_daemon(connection, root, "SessionStart", payload, other.count_seconds_left())
        if not reply:
            raise ValueError("the daemon had nothing to say")
        return reply
    except Exception as error:  # noqa: BLE001  whatever it is, the warning does not depend on the daemon
        other.hurry_no_more()
        _log(f"SessionStart without the daemon: {error!r}")
        other.begin()
        return other.read_answer()
    finally:
        other.hurry_no_more()
        other.end()


class OtherWay:
    """A program that looks for unexplained changes without a daemon."""

    def __init__(self, root: str, end: float) -> None:
        self._root = root
        self._end = end
        self._process = 0
        self._reading = -1

    def count_seconds_left(self) -> float:
        """Seconds until the hook must be done."""
        return max(0.01, self._end - time.monotonic())

    def grow_impatient(self) -> None:
        """Starts the program, and shortly before the end gives up whatever is waited for beside it."""
        if self._process:
            raise TimeoutError("the daemon took too long")
        self.begin()
        _signal.setitimer(_signal.ITIMER_REAL, max(0.01, self.count_seconds_left() - LAST_SECONDS))

    def hurry_no_more(self) -> None:
        _signal.setitimer(_signal.ITIMER_REAL, 0)

    def begin(self) -> None:
        """Starts the program, unless it has been."""
        if self._process:
            return
        self._reading, writing = os.pipe()
        self._process = os.fork()
        if self._process == 0:
            try:
                nothing = os.open(os.devnull, os.O_RDWR)
                for here, there in ((nothing, 0), (writing, 1), (nothing, 2)):
                    os.dup2(here, there)
                os.execv(sys.executable, [sys.executable, "-P", "-m", "oneiros.hooks.without_daemon", self._root])  # noqa: S606
            finally:
                os._exit(1)
        os.close(writing)

    def read_answer(self) -> bytes:
        """Its whole answer; where it has none in time, that nobody has looked."""
        received = b""
        while select.select([self._reading], [], [], self.count_seconds_left())[0]:
            part = os.read(self._reading, 65_536)
            if not part:
                break
            received += part
        return received if received.startswith(b"{") and received.endswith(b"}") else NOBODY_LOOKED

    def end(self) -> None:
        if self._process:
            os.kill(self._process, _signal.SIGKILL)


def _root() -> str:
    return find_root(os.environ, os.getcwd(), os.path.expanduser("~"))


def _connect_daemon(root: str) -> _socket.socket | None:
    """A connection to the running daemon; None where there is none."""
    try:
        with open(os.path.join(state_folder(os.environ, root), "daemon.json"), encoding="utf-8") as stream:
            path = stream.read().partition('"http": "')[2].partition('"')[0]  # as `daemon.write_state` writes it
        if not path or "\\" in path or not is_private(os.path.dirname(path)):
            return None
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        connection.settimeout(OTHER_SECONDS)
        connection.connect(path)
    except (FileNotFoundError, ConnectionRefusedError):  # none was started, it ended, or it was killed
        return None
    return connection


def _ask_daemon(
    connection: _socket.socket, root: str, event: str, payload: bytes, seconds: float = OTHER_SECONDS
) -> bytes:
    """The daemon's answer about an event: an object of JSON, or nothing. Raises ValueError for anything else."""
    opening = f'{{"event":"{event}","client_pid":"{os.environ.get("CLAUDE_PID", "")}","input":'
    body = opening.encode() + payload + b"}"
    token = read_token(state_folder(os.environ, root))
    status, content = request(connection, token, "POST", "/api/hook/output", body, seconds)
    is_object = content.startswith(b"{") and content.endswith(b"}")
    if status != 200 or len(content) > MAX_OUTPUT or (content and not is_object):
        raise ValueError("the daemon gave no answer that a hook can pass on")
    return content


def _note_end(payload: bytes, state: str) -> None:
    """Notes that a session is over as `crawler.closed.note_end` does, for the next ingest.

    An empty line is passed over by its reader, and keeps a line that a kill tore from running into this one.
    """
    import json  # noqa: PLC0415  once a session

    session_id = json.loads(payload).get("session_id", "")
    if not session_id.replace("-", "").isalnum():
        return
    ensure_state(state)
    line = f'\n{{"session_id":"{session_id}","at":"{time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}"}}\n'
    descriptor = os.open(os.path.join(state, "ended.jsonl"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, line.encode())
    os.close(descriptor)


def _judge_call(payload: bytes) -> bytes:
    """The refusal of a tool call that would pass a person by; empty where there is none. Where no part judges calls,
    the client asks the person.
    """
    import json  # noqa: PLC0415  only for a call that names what is guarded

    try:
        from parts.hook_table import reason_to_deny  # noqa: PLC0415
    except ImportError:
        return _format_decision("ask", NO_GUARD)
    except Exception as error:  # noqa: BLE001  a module of the guard that is broken guards nothing
        _log(f"PreToolUse failed: {error!r}")
        return _format_decision("deny", NOT_JUDGED.format(why="the guard cannot be loaded"))
    if len(payload) > MAX_CALL:
        return _format_decision("deny", NOT_JUDGED.format(why="it is longer than the guard reads"))
    _signal.signal(_signal.SIGALRM, lambda *_: _refuse_late())
    call = json.loads(payload)
    home = os.path.expanduser("~")
    own = os.path.join(home, ".oneiros", "memory")
    try:
        meant = _root()
    except DaemonUnreachable:
        meant = own  # the one that is named is not trusted; the others are guarded all the same
    roots = [root for root in {meant, own, *read_trusted_roots(os.environ, home)} if is_memory(root)]
    folder = call.get("cwd") or os.getcwd()
    try:
        reason = reason_to_deny(call["tool_name"], call["tool_input"], folder, roots, os.environ)
    except Exception as error:  # noqa: BLE001  whatever it is, it was made by what is to be judged
        _log(f"PreToolUse failed: {error!r}")
        reason = NOT_JUDGED.format(why="the guard cannot read it")
    return _format_decision("deny", reason) if reason else b""


def _format_decision(decision: str, reason: str) -> bytes:
    import json  # noqa: PLC0415  only for a call that is not let through

    output = {"hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": reason}
    return json.dumps({"hookSpecificOutput": output}).encode()


def _read_input(most: int) -> bytes:
    """The JSON on stdin, empty where there is none; of too much of it a piece that is longer than `most`."""
    if os.isatty(0):
        return b""
    received = bytearray()
    while len(received) <= most and (part := os.read(0, 65_536)):
        received += part
    return bytes(received)


def _refuse_late() -> None:
    os.write(1, _format_decision("deny", NOT_JUDGED.format(why="the guard could not look at it in time")))
    _end_late("PreToolUse")


def _end_late(event: str) -> None:
    _log(f"{event} took too long")
    os._exit(0)


def _log(text: str) -> None:
    """One line in the log of hooks, where there is a memory to keep it; never an error."""
    try:
        root = _root()
        if not is_memory(root):
            return
        state = state_folder(os.environ, root)
        ensure_state(state)
        log = os.path.join(state, "hook.log")
        too_long = os.path.exists(log) and os.path.getsize(log) > MAX_LOG_BYTES
        flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if too_long else os.O_APPEND)
        descriptor = os.open(log, flags, 0o600)
        os.write(descriptor, f"{int(time.time())} {text}\n".encode("utf-8", "replace"))
        os.close(descriptor)
    except BaseException:  # noqa: BLE001, S110  a full disk must not speak to the person in the middle of a turn
        pass


if __name__ == "__main__":
    run()
