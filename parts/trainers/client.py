"""A client for models that `trainer/` serves: several machines in order, the next one when one fails.

`ONEIROS_TRAINER_URLS` names them, best first: `http://127.0.0.1:3011` or, with names, `desk=http://10.0.0.5:3011,
laptop=http://127.0.0.1:3011`. A machine that failed is left alone for a while. An answer moves on to the next machine
only before its first piece: half an answer is never continued by another model.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from memory_server.errors import NeedsRepair, UsageError

if TYPE_CHECKING:
    import httpx

URLS = "ONEIROS_TRAINER_URLS"
TOKEN = "ONEIROS_TRAINER_TOKEN"  # noqa: S105  (a variable's name); with _<NAME> behind it for one machine
HOME = "ONEIROS_TRAINER_HOME"
DEFAULT_URL = "http://127.0.0.1:3011"
CONNECT_SECONDS = 3.0  # a machine that is off must not keep a person waiting
ANSWER_SECONDS = 300.0
NO_TRAINER = f"{URLS} names no trainer, and none runs on this machine: `python -m trainer serve` starts one"
REST_SECONDS = 30.0  # how long a machine that failed is left alone


@dataclass(frozen=True, slots=True)
class TrainerMachine:
    """One place where a trainer's service runs."""

    name: str
    url: str  # scheme, host and port
    token: str


class TrainerUnreachable(NeedsRepair):
    """A machine did not answer, or said that it cannot serve just now; another one may."""


def parse_machines(variables: Mapping[str, str]) -> tuple[TrainerMachine, ...]:
    """The machines that the environment names, in its order; the local one where it names none.

    Raises UsageError for an address that is no http URL and for a name used twice.
    """
    entries = [entry.strip() for entry in variables.get(URLS, "").split(",") if entry.strip()] or [DEFAULT_URL]
    machines: list[TrainerMachine] = []
    for entry in entries:
        name, named, url = entry.partition("=")
        parts = urlsplit(url if named else entry)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username:
            raise UsageError(f"{URLS} holds {entry!r}, which is no address", remedy="Write name=http://host:3011")
        host, port = parts.hostname, parts.port or (443 if parts.scheme == "https" else 3011)
        name = name if named else f"{host}:{port}"
        if name in {machine.name for machine in machines}:
            raise UsageError(f"{URLS} names {name!r} twice", remedy="Give each machine a name of its own")
        machines.append(TrainerMachine(name, f"{parts.scheme}://{host}:{port}", find_token(name, host, variables)))
    return tuple(machines)


def find_machines(variables: Mapping[str, str]) -> tuple[TrainerMachine, ...]:
    """Those that a person looks at: the ones named, else the local one where it runs."""
    machines = parse_machines(variables)
    if variables.get(URLS, "").strip(", "):
        return machines
    try:
        fetch_json(machines[0], "/health")
    except TrainerUnreachable:
        return ()
    return machines


def find_token(name: str, host: str, variables: Mapping[str, str]) -> str:
    """A machine's bearer token: its own variable, the common one, or for this machine the service's token file."""
    own = f"{TOKEN}_{''.join(sign if sign.isalnum() else '_' for sign in name).upper()}"
    token = variables.get(own) or variables.get(TOKEN)
    if token or host not in {"127.0.0.1", "localhost", "::1"}:
        return token or ""
    home = variables.get(HOME) or os.path.join(variables.get("HOME", ""), ".cache", "oneiros-trainer")  # noqa: PTH118
    file = Path(home) / "token"
    return file.read_text(encoding="utf-8").strip() if file.is_file() else ""


class TrainerClient:
    """Asks the first machine that can answer. Safe to use from several threads."""

    def __init__(self, machines: Sequence[TrainerMachine], *, clock: Callable[[], float] = time.monotonic):
        self.machines = tuple(machines)
        self._clock = clock
        self._resting: dict[str, float] = {}  # name to the time when it may be asked again

    def complete(
        self, messages: Sequence[Mapping[str, str]], *, max_tokens: int = 256, temperature: float = 0.0
    ) -> str:
        """The whole answer. Raises NeedsRepair where no machine gives one, with what each of them said."""
        return "".join(self.stream(messages, max_tokens=max_tokens, temperature=temperature))

    def stream(
        self, messages: Sequence[Mapping[str, str]], *, max_tokens: int = 256, temperature: float = 0.0
    ) -> Iterator[str]:
        """The answer piece by piece.

        Raises NeedsRepair before the first piece where no machine can answer, and after it where the machine that
        answers goes away.
        """
        body = {
            "model": "served",
            "messages": [dict(message) for message in messages],
            "max_tokens": max_tokens,
            "temperature": temperature,
            "stream": True,
        }
        failures = []
        for machine in self._in_order():
            pieces = stream_pieces(machine, body)
            try:
                fetch_json(machine, "/health")  # one that hangs is found out in seconds here, in minutes by its answer
                first = next(pieces, None)
            except TrainerUnreachable as error:
                self._resting[machine.name] = self._clock() + REST_SECONDS
                failures.append(f"{machine.name}: {error}")
                continue
            self._resting[machine.name] = 0.0
            if first is not None:
                yield first
                yield from pieces
            return
        raise NeedsRepair(
            f"no trainer answered ({'; '.join(failures)})",
            remedy=f"Start one (`python -m trainer serve`) and load a model, or change {URLS}",
        )

    def status(self, machine: TrainerMachine) -> dict[str, Any]:
        """What the machine's `/status`, `/gpu` and `/inference/status` say. Raises TrainerUnreachable."""
        return {
            "training": fetch_json(machine, "/status"),
            "gpu": fetch_json(machine, "/gpu"),
            "inference": fetch_json(machine, "/inference/status"),
        }

    def _in_order(self) -> list[TrainerMachine]:
        """The machines in their order, those that failed lately at the end rather than not at all."""
        now = self._clock()
        return sorted(self.machines, key=lambda machine: self._resting.get(machine.name, 0.0) > now)


def inspect_trainer(variables: Mapping[str, str], name: str) -> Mapping[str, Any]:
    """One look at a trainer; of one that does not answer, why."""
    machine = next((one for one in parse_machines(variables) if one.name == name), None)
    if machine is None:
        raise UsageError(f"there is no trainer {name[:40]!r}", remedy="ONEIROS_TRAINER_URLS names them")
    nothing = {"training": None, "gpu": None, "inference": None, "log": ""}
    try:
        seen = TrainerClient([machine]).status(machine)
        return {"name": name, "url": machine.url, "error": "", **seen, "log": fetch_json(machine, "/log/tail")["text"]}
    except TrainerUnreachable as error:
        return {"name": name, "url": machine.url, "error": str(error), **nothing}


def fetch_json(machine: TrainerMachine, path: str) -> dict[str, Any]:
    """The JSON object that a GET gives. Raises TrainerUnreachable where it gives none."""
    with exchange(machine, "GET", path, None, CONNECT_SECONDS) as response:
        value = json.loads(response.read())
    if not isinstance(value, dict):
        raise TrainerUnreachable(f"{machine.url} answered no JSON object", remedy="Check the address")
    return value


def stream_pieces(machine: TrainerMachine, body: Mapping[str, object]) -> Iterator[str]:
    """The pieces of a chat completion. Raises TrainerUnreachable where they do not come, or stop before the end."""
    with exchange(machine, "POST", "/v1/chat/completions", body, ANSWER_SECONDS) as response:
        for line in response.iter_lines():
            if line == "data: [DONE]":
                return
            if not line.startswith("data: "):
                continue
            event = json.loads(line.removeprefix("data: "))
            if "error" in event:
                raise TrainerUnreachable(str(event["error"].get("message", "the model failed")))
            for choice in event.get("choices", ()):
                if piece := choice.get("delta", {}).get("content"):
                    yield piece
    raise TrainerUnreachable(f"{machine.url} went away in the middle of an answer", remedy="Ask again")


@contextmanager
def exchange(
    machine: TrainerMachine, method: str, path: str, body: Mapping[str, object] | None, seconds: float
) -> "Iterator[httpx.Response]":
    """A request whose answer has the status 200; everything else becomes TrainerUnreachable."""
    import httpx  # noqa: PLC0415  more than all the rest of a command that asks no trainer

    headers = {"Authorization": f"Bearer {machine.token}"} if machine.token else {}
    timeout = httpx.Timeout(seconds, connect=CONNECT_SECONDS)
    try:
        with (
            httpx.Client(headers=headers, timeout=timeout, trust_env=False) as client,
            client.stream(method, machine.url + path, json=body) as response,
        ):
            if response.status_code != 200:
                raise TrainerUnreachable(read_refusal(machine, response))
            yield response
    except (httpx.HTTPError, ValueError) as error:
        raise TrainerUnreachable(f"{machine.url} does not answer ({type(error).__name__}: {error})") from error


def read_refusal(machine: TrainerMachine, response: "httpx.Response") -> str:
    """The sentence with which a service refused."""
    try:
        return str(json.loads(response.read())["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return f"{machine.url} answered {response.status_code}"
