"""A whole house for tests: a memory in a temporary home, its processes, and clients that speak to them."""

import contextlib
import fcntl
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psutil

from memory_server.root.paths import MemoryRoot
from oneiros.client import Client
from oneiros.hooks.without_daemon import SILENT
from oneiros.light.endpoint import daemon_state, states_folder
from oneiros.light.hook import NOBODY_LOOKED

CHECKOUT = Path(__file__).parent.parent.parent
ANSWER_SECONDS = 60.0


def wait_until(is_true: Callable[[], bool], seconds: float = 60.0) -> None:
    """Waits for a condition; fails where it does not come in time."""
    end = time.monotonic() + seconds
    pause = threading.Event()
    while not is_true():
        assert time.monotonic() < end, f"not in {seconds} s: {is_true}"
        pause.wait(0.02)


def outliving(processes: Callable[[], list[psutil.Process]], seconds: float = 60.0) -> list[psutil.Process]:
    """Those of some living processes that still live after so long; it does not wait longer than there are any."""
    with contextlib.suppress(AssertionError):
        wait_until(lambda: not processes(), seconds)
    return processes()


def is_living(process: psutil.Process) -> bool:
    """Whether a process has not ended; what has, and that nobody has asked about yet, is no longer living."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def unread_bytes(pipe: int) -> int:
    """How much of what was written to a pipe nobody has read yet."""
    answer = fcntl.ioctl(pipe, termios.FIONREAD, bytes(4))
    return int.from_bytes(answer, sys.byteorder)


def command_of(process: psutil.Process) -> list[str]:
    """The words with which a process was started; none where it has ended meanwhile."""
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []


class House:
    """One temporary home with one memory."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="oneiros-"))  # short: a socket path may have 100 bytes
        self.root = self.folder / "memory"
        (self.root / "topics").mkdir(parents=True)
        (self.folder / "run").mkdir()
        (self.root / "MEMORY.md").write_text("# Memory\n", encoding="utf-8")
        self.write("mail", "# Mail\n\nThe relay listens on port 2525.\n")
        self.write("cats", "# Cats\n\nThe grey cat sleeps on the warm oven all day.\n")
        self.relays: list[RelayClient] = []

    @property
    def variables(self) -> Mapping[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "ONEIROS_ROOT": str(self.root),
            "XDG_RUNTIME_DIR": str(self.folder / "run"),
            "PYTHONPATH": str(CHECKOUT),
        }

    @property
    def memory_root(self) -> MemoryRoot:
        return MemoryRoot(self.root, Path(states_folder(self.variables)))

    @property
    def state(self) -> Path:
        """The person's state of the memory."""
        return self.memory_root.state

    @property
    def client(self) -> Client:
        return Client(self.variables, self.root)

    def write(self, topic: str, text: str) -> Path:
        file = self.root / "topics" / f"{topic}.md"
        file.write_text(text, encoding="utf-8")
        return file

    def settle(self, **settings: object) -> None:
        """Writes the person's settings."""
        file = self.folder / ".config" / "oneiros" / "config.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items()), encoding="utf-8")

    def relay(self, **variables: str) -> "RelayClient":
        """A new MCP client over the relay, not initialised, with some more environment."""
        relay = RelayClient(self, variables=variables)
        self.relays.append(relay)
        return relay

    def command(self, *arguments: str, check: bool = True, seconds: float = 120) -> subprocess.CompletedProcess[str]:
        """Runs the command line."""
        return subprocess.run(
            [sys.executable, "-c", "from oneiros.cli.main import run; run()", *arguments],
            env=dict(self.variables),
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=check,
        )

    def hook(self, event: str, payload: Mapping[str, object]) -> str:
        """What the hook's program prints about an event, as the client runs it."""
        program = [sys.executable, "-c", "from oneiros.light.hook import run; run()", event]
        text = json.dumps(payload)
        done = subprocess.run(program, env=dict(self.variables), input=text, capture_output=True, text=True, check=True)
        return done.stdout

    def answer_of_hook(self, event: str, payload: Mapping[str, object]) -> Any:
        """What a hook says that must have its whole answer; on a late machine it has none, and is asked again."""
        answers: list[str] = []

        def has_said() -> bool:
            answers.append(self.hook(event, payload))
            return answers[-1].encode() not in (b"", NOBODY_LOOKED) and SILENT not in answers[-1]

        wait_until(has_said)
        return json.loads(answers[-1])

    def daemon(self) -> psutil.Process:
        """The process of the daemon that runs."""
        number = daemon_state(self.state)["pid"]
        assert isinstance(number, int)
        return psutil.Process(number)

    def processes(self) -> list[psutil.Process]:
        """Every living process that was started for this house, whoever its parent is."""
        found = []
        for process in psutil.process_iter():
            try:
                if process.environ().get("ONEIROS_ROOT") == str(self.root) and is_living(process):
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def running(self, program: str) -> list[psutil.Process]:
        """The living processes of this house that run a program by its name, or a module by its dotted one."""
        return [one for one in self.processes() if program in {Path(word).name for word in command_of(one)}]

    def has_one_daemon(self) -> bool:
        """Whether the daemon runs alone: one that was started beside it ends once it finds the place taken."""
        return [process.pid for process in self.running("oneiros.daemon.main")] == [daemon_state(self.state).get("pid")]

    def serve(self) -> None:
        """Starts the daemon and waits until it has indexed what there is."""
        self.client.start()
        wait_until(lambda: self.client.ask("GET", "/api/indexing")["runs"] > 0)

    def warm_up(self) -> None:
        """Starts the daemon and waits until a search succeeds, so that a hook need not wait for the model."""
        self.serve()
        wait_until(lambda: self.client.ask("GET", "/health")["status"] == "ok")

    def log(self) -> str:
        file = self.state / "daemon.log"
        return file.read_text(encoding="utf-8") if file.exists() else ""

    def close(self) -> None:
        """Ends the daemon. Fails where another process has outlived its client, or the daemon does not end."""
        for relay in self.relays:
            relay.close()
        orphans = outliving(self._without_daemon)
        for process in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.terminate()
        left = outliving(self.processes)
        for process in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
        assert not orphans, f"outlived its client: {orphans}"
        assert not left, f"did not end by itself: {left}"

    def _without_daemon(self) -> list[psutil.Process]:
        daemons = {process.pid for process in self.running("oneiros.daemon.main")}
        return [process for process in self.processes() if process.pid not in daemons]


class RelayClient:
    """Speaks MCP with a relay process, one request at a time or many."""

    def __init__(
        self,
        house: House,
        command: tuple[str, ...] = ("-m", "oneiros.light.relay"),
        variables: Mapping[str, str] | None = None,
    ):
        self.process = subprocess.Popen(
            [sys.executable, *command],
            env={**house.variables, **(variables or {})},
            cwd=house.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._number = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def send(self, message: Mapping[str, Any]) -> None:
        self.send_bytes(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def send_bytes(self, text: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def hand_on(self, message: Mapping[str, Any]) -> None:
        """Sends a message and waits until the relay has read it and rests again: then it has passed it on."""
        self.send(message)
        assert self.process.stdin is not None
        pipe, relay = self.process.stdin.fileno(), psutil.Process(self.process.pid)
        wait_until(lambda: unread_bytes(pipe) == 0 and relay.status() == psutil.STATUS_SLEEPING)

    def receive(self) -> dict[str, Any]:
        """The next message; fails where the relay ends or says nothing."""
        line = self._lines.get(timeout=ANSWER_SECONDS)
        assert line, f"the relay ended with {self.process.wait()}"
        message = json.loads(line)
        assert isinstance(message, dict)
        return message

    def request(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The whole reply to one request."""
        self._number += 1
        self.send({"id": self._number, "method": method, "params": params or {}})
        reply = self.receive()
        assert reply["id"] == self._number, reply
        return reply

    def initialize(self) -> "RelayClient":
        client = {"name": "test", "version": "1"}
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        assert "result" in self.request("initialize", params)
        self.send({"method": "notifications/initialized"})
        return self

    def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    def text(self, tool: str, **arguments: object) -> str:
        """The text that a tool answers with."""
        reply = self.call(tool, **arguments)
        assert "result" in reply, reply
        return str(reply["result"]["content"][0]["text"])

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None and self.process.stderr is not None
        self.process.stdin.close()
        self.process.wait(timeout=70)
        self._reader.join()
        self.process.stdout.close()
        self.process.stderr.close()
