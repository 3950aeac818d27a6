"""The genuine Claude Code, run in the home of a `House` against a loopback stand-in for its service.

Which version, and why it is found where it is: `make setup-client` installs the pinned package below `.venv`, so that
it goes with `make clean`. Where npm could bring it and nobody has asked it to, the tests that need it fail with that
remedy; where there is no npm they are skipped and say so.
"""

import contextlib
import json
import os
import shutil
import subprocess
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.plugin.messages_api import MessagesApi
from tests.system.at_terminal import Seen, Step, at_terminal
from tests.system.house import CHECKOUT, House

VERSION = "2.1.330"
CLIENT = Path(os.environ.get("ONEIROS_TEST_CLIENT", CHECKOUT / ".venv" / "client" / "node_modules" / ".bin" / "claude"))
MISSING = f"Claude Code {VERSION} is not installed here. Run `make setup-client`"
PROGRAMS = CHECKOUT / ".venv" / "bin"
PATH_WITHOUT_PROGRAM = "/usr/local/bin:/usr/bin:/bin"
TURN_SECONDS = 120.0
KEY = "sk-ant-dummy"
FIRST_START = {  # what the client asks a person at its first start
    "hasCompletedOnboarding": True,
    "theme": "dark",
    "customApiKeyResponses": {"approved": [KEY], "rejected": []},
}


class GenuineClient:
    """One installation of the client with its own home, where the plugin can be installed."""

    def __init__(self, house: House, api: MessagesApi) -> None:
        self.house = house
        self.api = api
        self.folder = house.folder / "work"
        self.folder.mkdir(exist_ok=True)

    @property
    def variables(self) -> dict[str, str]:
        """Nothing of this process but PATH; a proxy or a key of the machine must not reach the client."""
        return {
            "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
            "HOME": str(self.house.folder),
            "ONEIROS_ROOT": str(self.house.root),
            "XDG_RUNTIME_DIR": str(self.house.folder / "run"),
            "PYTHONPATH": str(CHECKOUT),  # where a worktree shares the environment of another checkout
            "ANTHROPIC_BASE_URL": self.api.url,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
        }

    @property
    def settings(self) -> Path:
        """The client's own folder."""
        return self.house.folder / ".claude"

    def command(self, *arguments: str, check: bool = True, **variables: str) -> subprocess.CompletedProcess[str]:
        """Runs the client to its end."""
        done = subprocess.run(
            [str(CLIENT), *arguments],
            env=self.variables | variables,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TURN_SECONDS,
            check=False,
        )
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    def oneiros(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs the program where the client is on PATH too."""
        variables = self.variables | {"PATH": f"{CLIENT.parent}:{self.variables['PATH']}"}
        command = [str(PROGRAMS / "oneiros"), *arguments]
        return subprocess.run(
            command, env=variables, cwd=self.folder, capture_output=True, text=True, timeout=TURN_SECONDS, check=False
        )

    def install_plugin(self, marketplace: Path = CHECKOUT) -> None:
        """Installs the plugin from a local marketplace, as a person does."""
        self.command("plugin", "marketplace", "add", str(marketplace))
        self.command("plugin", "install", "oneiros@oneiros")

    def ask(
        self, prompt: str, *flags: str, allowed: Sequence[str] = (), check: bool = True, **variables: str
    ) -> "Conversation":
        """One prompt in print mode, answered by the rules of the stand-in."""
        tools = ("--allowedTools", *allowed) if allowed else ()
        arguments = (*print_mode(prompt), *flags, *tools)
        began = len(self.api.requests)
        done = self.command(*arguments, check=check, **variables)
        return Conversation(done, self.api.requests[began:])

    @contextlib.contextmanager
    def started(self, prompt: str, *flags: str) -> Iterator["subprocess.Popen[str]"]:
        """A prompt under way, which ends with the block."""
        running = subprocess.Popen(
            [str(CLIENT), *print_mode(prompt), *flags],
            env=self.variables,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        with running:
            try:
                yield running
            finally:
                running.kill()

    def at_terminal(self, *steps: Step) -> Seen:
        """A conversation as a person has it, at a terminal, by what is waited for and typed."""
        file = self.house.folder / ".claude.json"
        settings = json.loads(file.read_text(encoding="utf-8")) | FIRST_START
        settings["projects"] = {str(self.folder): {"hasTrustDialogAccepted": True}}
        file.write_text(json.dumps(settings), encoding="utf-8")
        variables = self.variables | {"TERM": "xterm-256color"}
        command = [str(CLIENT), "--permission-mode", "default"]
        return at_terminal(self.house, steps, command=command, variables=variables, folder=self.folder, draws=True)

    def has_written(self, session_id: str, words: str) -> bool:
        """Whether the transcript of a session holds these words yet."""
        return any(words in file.read_text("utf-8") for file in self.settings.glob(f"projects/*/{session_id}.jsonl"))

    def transcript(self, session_id: str) -> list[dict[str, Any]]:
        """The entries of a session as the client wrote them."""
        (file,) = self.settings.glob(f"projects/*/{session_id}.jsonl")
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def print_mode(prompt: str) -> tuple[str, ...]:
    return ("-p", prompt, "--output-format", "stream-json", "--verbose", "--include-hook-events")


class Conversation:
    """What one run of the client printed and sent."""

    def __init__(self, done: subprocess.CompletedProcess[str], requests: Sequence[Mapping[str, Any]]):
        self.stderr = done.stderr
        self.code = done.returncode
        self.requests = requests
        self.events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    @property
    def session_id(self) -> str:
        return str(next(event["session_id"] for event in self.events if "session_id" in event))

    @property
    def answer(self) -> str:
        """What the assistant said at the end."""
        return str(next(event.get("result", "") for event in self.events if event["type"] == "result"))

    @property
    def tools(self) -> list[str]:
        """The tools that the model was offered."""
        return [tool["name"] for tool in self.requests[0].get("tools", [])]

    def results(self) -> list[str]:
        """The texts of the tool results, in order."""
        return list(results_in(self.requests[-1]["messages"]))

    def injected(self) -> list[str]:
        """Everything that hooks put before the model, in the last request."""
        whole = json.dumps(self.requests[-1], ensure_ascii=False)
        return [part.partition("</oneiros-memory")[0] for part in whole.split("<oneiros-memory")[1:]]

    def hooks(self, event: str) -> list[dict[str, Any]]:
        """The answers of the hooks of an event."""
        return [one for one in self.events if one.get("subtype") == "hook_response" and one.get("hook_event") == event]


def results_in(messages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The texts of the tool results of a conversation, in order."""
    for message in messages:
        if message["role"] == "user" and not isinstance(message["content"], str):
            for block in message["content"]:
                if block["type"] == "tool_result":
                    content = block["content"]
                    yield content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def new_session_id() -> str:
    return str(uuid.uuid4())


def require_client() -> None:
    """Ends a test on a machine without the client: as a failure where it could be had."""
    if CLIENT.exists():
        return
    if shutil.which("npm"):
        pytest.fail(f"{MISSING}.")
    pytest.skip(f"{MISSING} once there is an npm: it comes with Node.js.")
