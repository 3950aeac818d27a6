"""`oneiros-mcp`: hands lines of JSON-RPC from an MCP client to the daemon and back.

The standard library alone and no event loop: one of these runs for every session of a client, so it must start at once
and stay small. It keeps no state but what a lost daemon makes it need: the ids of the requests under way, which it then
answers with an error, and the client's `initialize`, which it says again to the next daemon. Nothing but the protocol
ever goes to stdout.
"""

import contextlib
import json
import os
import select
import signal
import socket
import time
from typing import Any

from oneiros.light.endpoint import DaemonUnreachable, find_root, start_daemon

PIPE_CHUNK = 4096  # what a pipe takes without blocking once it is writable
READ_CHUNK = 65_536
MAX_PENDING = 1 << 20  # bytes on their way; beyond, their source is not read
MAX_LINE = 8 << 20  # bytes; a longer line is no request of ours
LOOK_SECONDS = 10.0  # how often a vanished parent is looked for
LATE_SECONDS = 60.0  # how long answers are awaited after the client has closed its end
MAX_STARTS = 10  # within START_WINDOW seconds; then the relay says so instead of trying again
START_WINDOW = 10.0
ENDING_SECONDS = (0.05, 0.1, 0.2, 0.4, 0.8)  # how long a daemon that was killed may take to be gone
SERVER_ERROR = -32000  # the first of JSON-RPC's range for a server's own errors

# tools that ask from which session a call comes
OF_SESSION = frozenset({"note_for_sessions", "dream_evidence", "recall", "search_memory", "search_exact"})

GONE = "oneiros: the daemon went away during this request and is being started again. Ask once more."


class Relay:
    """One client's connection, across as many daemons as it takes."""

    def __init__(self, root: str, stdin: int, stdout: int, session_id: str = "") -> None:
        self._root = root
        self._stdin = stdin
        self._stdout = stdout
        self._session_id = session_id
        self._daemon: socket.socket | None = None
        self._from_client = b""  # the beginning of a line
        self._from_daemon = b""
        self._to_client = bytearray()
        self._to_daemon = bytearray()
        self._open: dict[str, Any] = {}  # requests under way: the id as text -> the id
        self._initialize: bytes | None = None
        self._initialized: bytes | None = None
        self._starts: list[float] = []
        self._why_down = "oneiros: the daemon cannot be reached. Run `oneiros doctor`."
        self._at_end = False  # the client has closed its end
        self._end_by = 0.0

    def run(self) -> None:
        """Serves until the client goes, or its process does."""
        parent = os.getppid()
        self._connect()
        while not (self._at_end and self._is_done()):
            reading: list[Any] = []
            if not self._at_end and len(self._to_daemon) < MAX_PENDING:
                reading.append(self._stdin)
            if self._daemon is not None and len(self._to_client) < MAX_PENDING:
                reading.append(self._daemon)
            writing: list[Any] = [self._stdout] if self._to_client else []
            if self._daemon is not None and self._to_daemon:
                writing.append(self._daemon)
            readable, writable, _ = select.select(reading, writing, [], LOOK_SECONDS)
            if os.getppid() != parent:
                return
            if self._stdout in writable:
                del self._to_client[: os.write(self._stdout, self._to_client[:PIPE_CHUNK])]
            if self._daemon is not None and self._daemon in writable:
                self._write_to_daemon()
            if self._daemon is not None and self._daemon in readable:
                self._read_daemon()
            if self._stdin in readable:
                self._read_client()

    def _is_done(self) -> bool:
        """Whether nothing more can come for a client that has closed its end."""
        if self._to_client:
            return False
        return self._daemon is None or time.monotonic() > self._end_by

    # -- the client's side --------------------------------------------------------------------------------------

    def _read_client(self) -> None:
        part = os.read(self._stdin, READ_CHUNK)
        if not part:
            self._at_end = True
            self._end_by = time.monotonic() + LATE_SECONDS
            self._close_when_written()
            return
        lines = (self._from_client + part).split(b"\n")
        self._from_client = lines.pop()
        if len(self._from_client) > MAX_LINE:
            self._from_client = b""
            self._answer(None, -32600, f"oneiros: a request may have {MAX_LINE} bytes.")
        for line in lines:
            if line.strip():
                self._forward_line(line)

    def _forward_line(self, line: bytes) -> None:
        """One line to the daemon, which is started if it has gone."""
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        request_id = None
        if isinstance(message, dict) and "method" in message:
            method = message["method"]
            request_id = message.get("id")
            if method == "initialize":
                self._initialize, self._initialized = line, None
            elif method == "tools/call":
                line = _of_session(line, message, self._session_id)
            elif method == "notifications/initialized":
                self._initialized = line
            elif method == "notifications/cancelled" and isinstance(message.get("params"), dict):
                self._open.pop(json.dumps(message["params"].get("requestId")), None)
        is_first = self._initialize is line
        if self._daemon is None:
            self._connect(repeat_initialize=not is_first)
        if self._daemon is None:
            if request_id is not None:
                self._answer(request_id, SERVER_ERROR, self._why_down)
            return
        if request_id is not None:
            self._open[json.dumps(request_id)] = request_id
        self._to_daemon += line + b"\n"

    def _answer(self, request_id: Any, code: int, text: str) -> None:
        error = {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": text}}
        self._to_client += json.dumps(error).encode() + b"\n"

    # -- the daemon's side --------------------------------------------------------------------------------------

    def _write_to_daemon(self) -> None:
        assert self._daemon is not None
        try:
            del self._to_daemon[: self._daemon.send(self._to_daemon[:READ_CHUNK])]
        except BlockingIOError:
            return
        except OSError:
            self._lose_daemon()
            return
        self._close_when_written()

    def _close_when_written(self) -> None:
        """Tells the daemon that no more comes; it answers what is under way and closes its end."""
        if self._at_end and not self._to_daemon and self._daemon is not None:
            try:
                self._daemon.shutdown(socket.SHUT_WR)
            except OSError:
                self._lose_daemon()

    def _read_daemon(self) -> None:
        assert self._daemon is not None
        try:
            part = self._daemon.recv(READ_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            part = b""
        if not part:
            self._lose_daemon()
            return
        lines = (self._from_daemon + part).split(b"\n")
        self._from_daemon = lines.pop()  # only whole lines go on: a dying daemon must not tear one
        for line in lines:
            self._note_answer(line)
            self._to_client += line + b"\n"

    def _note_answer(self, line: bytes) -> None:
        if self._open:
            try:
                message = json.loads(line)
            except ValueError:
                return
            if isinstance(message, dict) and "method" not in message:
                self._open.pop(json.dumps(message.get("id")), None)

    def _lose_daemon(self) -> None:
        """The daemon closed its end: whatever is under way gets an error, and another one is started for the next.

        Where nothing is under way it ended by itself, having had nothing to do; then the next request starts one.
        """
        if self._daemon is not None:
            self._daemon.close()
        self._daemon = None
        self._from_daemon = b""
        self._to_daemon.clear()
        lost = list(self._open.values())
        self._open.clear()
        for request_id in lost:
            self._answer(request_id, SERVER_ERROR, GONE)
        if lost and not self._at_end:
            self._connect(repeat_initialize=bool(self._initialized))

    def _connect(self, *, repeat_initialize: bool = False) -> None:
        """Connects to the daemon, or leaves why it cannot in `_why_down`.

        A daemon that was killed still takes connections while the system clears it away, and resets them; so a reset is
        waited out before another daemon is asked for.
        """
        now = time.monotonic()
        self._starts = [at for at in self._starts if now - at < START_WINDOW]
        if len(self._starts) >= MAX_STARTS:
            self._why_down = f"oneiros: the daemon ended {MAX_STARTS} times within seconds. Run `oneiros doctor`."
            return
        self._starts.append(now)
        for seconds in ENDING_SECONDS:
            try:
                root = self._root or find_root(os.environ, os.getcwd(), os.path.expanduser("~"))
                self._daemon = start_daemon(os.environ, root, "mcp")
                if repeat_initialize and self._initialize is not None:
                    self._repeat_initialize()
                self._daemon.setblocking(False)
                return
            except (DaemonUnreachable, OSError) as error:
                if self._daemon is not None:
                    self._daemon.close()
                self._daemon = None
                self._why_down = f"oneiros: the daemon cannot be reached ({error}). Run `oneiros doctor`."
                if isinstance(error, DaemonUnreachable):
                    return
                time.sleep(seconds)

    def _repeat_initialize(self) -> None:
        """Says to a new daemon what the client said to the first one, and keeps its answer from the client."""
        assert self._daemon is not None and self._initialize is not None
        self._daemon.settimeout(30.0)
        self._daemon.sendall(self._initialize + b"\n")
        received = b""
        while b"\n" not in received:
            part = self._daemon.recv(READ_CHUNK)
            if not part:
                raise OSError("the daemon ended again while it was started")
            received += part
        if self._initialized is not None:
            self._daemon.sendall(self._initialized + b"\n")


def _of_session(line: bytes, message: Any, session_id: str) -> bytes:
    """A call of a tool that asks for its session, with session and folder that it comes from; others as they are."""
    params = message.get("params")
    if not session_id or not isinstance(params, dict) or params.get("name") not in OF_SESSION:
        return line
    known = params["_meta"] if isinstance(params.get("_meta"), dict) else {}
    ours = {"oneiros/session": session_id}
    with contextlib.suppress(OSError):  # the folder is gone
        ours["oneiros/folder"] = os.getcwd()
    tagged = {**message, "params": {**params, "_meta": {**known, **ours}}}
    return json.dumps(tagged).encode()


def serve(root: str = "") -> None:
    """Relays stdin and stdout of this process until the client goes. Where no root is named, the one that is meant."""
    os.umask(0o077)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda *_: os._exit(0))
    with contextlib.suppress(BrokenPipeError):  # the client went without waiting for its answers
        Relay(root, 0, 1, os.environ.get("CLAUDE_CODE_SESSION_ID", "")).run()


def run() -> None:
    """The console script `oneiros-mcp`."""
    serve()


if __name__ == "__main__":
    run()
