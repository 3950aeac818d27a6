"""What a peer is: packages, a place of its own, commands that index, and a door for questions."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from mcp import Client, StdioServerParameters
from mcp.types import TextContent

from benchmarks.answers import MOST, Shown
from memory_server.embedding.model import ModelFiles

OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
WAIT_SECONDS = 300  # for one answer: the first one loads a model, on a machine that has other work
LOOK_SECONDS = 0.1
HITS = MOST
INSTALLED = "installed"  # the mark of an environment that is whole
Hit = tuple[str, str]  # the session, and the text that is shown


@dataclass(frozen=True, slots=True)
class Place:
    """Where a peer lives during one run."""

    packages: Path  # its environment, made once
    home: Path  # all that it writes
    transcripts: Path  # of Claude Code, unpacked
    notes: Path  # what was said in them, a Markdown file a session


class Peer(Protocol):
    """One memory, a module. What it cannot do as the others do stands in its docstring."""

    def install(self, packages: Path, source: Path | None) -> None:
        """Makes its environment, where there is none; from a checkout, where no registry has it."""

    def prepare(self, place: Place, model: ModelFiles) -> Mapping[str, str]:
        """Lays settings and weights into an empty home; returns further variables of the environment."""

    def index_command(self, place: Place) -> Sequence[str]:
        """What takes all sessions in, again after a kill too."""

    def build_door(self, place: Place) -> "Door":
        """How it is asked."""

    def read_hits(self, answer: str) -> list[Hit]:
        """The hits of an answer, the best first."""


@dataclass(frozen=True, slots=True)
class Door:
    """A tool of an MCP server, or a command that ends with the question where no tool is named."""

    command: Sequence[str]
    tool: str = ""
    question: str = ""  # the argument that holds it
    arguments: Mapping[str, object] | None = None
    is_structured: bool = False  # its JSON stands beside the text
    ending: Sequence[str] = ()  # a command that ends what it leaves running


@dataclass(frozen=True, slots=True)
class Spent:
    """What a command took."""

    cpu_seconds: float
    wall_seconds: float
    peak_mb: float  # of the largest process
    is_complete: bool  # whether it ended by itself, without a failure


def make_variables(place: Place, further: Mapping[str, str]) -> dict[str, str]:
    """The environment of a peer: this one, with a home of its own, and no way to a hub."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return {**inherited, **OFFLINE, "HOME": str(place.home), **further}


def run_command(command: Sequence[str], place: Place, further: Mapping[str, str], seconds: float) -> Spent:
    """Runs a command, killed with its children after so many seconds."""
    started, variables = time.monotonic(), make_variables(place, further)
    with (place.home / "commands.log").open("ab") as log:
        process = subprocess.Popen(
            command,
            cwd=place.home,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    ended, status, usage = os.wait4(process.pid, os.WNOHANG)
    while not ended:
        if time.monotonic() - started > seconds:
            os.killpg(process.pid, signal.SIGKILL)
        time.sleep(LOOK_SECONDS)
        ended, status, usage = os.wait4(process.pid, os.WNOHANG)
    process.returncode = os.waitstatus_to_exitcode(status)
    taken = time.monotonic() - started
    return Spent(usage.ru_utime + usage.ru_stime, taken, usage.ru_maxrss / 1e3, process.returncode == 0)


def ask_all(peer: Peer, place: Place, further: Mapping[str, str], questions: Sequence[str]) -> list[Shown]:
    """Every question through the peer's door; what fails shows nothing."""
    door = peer.build_door(place)
    if door.tool:
        answers = asyncio.run(ask_server(door, make_variables(place, further), questions))
    else:
        answers = [ask_command(door, place, further, question) for question in questions]
    if door.ending:
        run_command(door.ending, place, further, WAIT_SECONDS)
    run = []
    for text, milliseconds in answers:
        hits = peer.read_hits(text) if text else []
        run.append(Shown([passage for _, passage in hits], [session for session, _ in hits], milliseconds))
    return run


async def ask_server(door: Door, variables: Mapping[str, str], questions: Sequence[str]) -> list[tuple[str, float]]:
    """The answers of a tool, each with its milliseconds; one question before them loads what is loaded once."""
    server = StdioServerParameters(command=door.command[0], args=[*door.command[1:]], env=dict(variables))
    answers = []
    async with Client(server, read_timeout_seconds=WAIT_SECONDS) as client:
        for question in ("warm up", *questions):
            started = time.perf_counter()
            answer = await client.call_tool(door.tool, {door.question: question, **(door.arguments or {})})
            text = "\n".join(block.text for block in answer.content if isinstance(block, TextContent))
            text = json.dumps(answer.structured_content) if door.is_structured else text
            answers.append(("" if answer.is_error else text, (time.perf_counter() - started) * 1_000))
    return answers[1:]


def ask_command(door: Door, place: Place, further: Mapping[str, str], question: str) -> tuple[str, float]:
    """The answer of a command, with its milliseconds."""
    started = time.perf_counter()
    found = subprocess.run(
        [*door.command, question],
        cwd=place.home,
        env=make_variables(place, further),
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT_SECONDS,
    )
    return found.stdout if found.returncode == 0 else "", (time.perf_counter() - started) * 1_000


def measure_disk(folder: Path) -> float:
    """Megabytes of all files below a folder, links not followed."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink()) / 1e6


def install_packages(packages: Path, wanted: Sequence[str], python: str = "python3.12") -> None:
    """A virtual environment with packages, where there is none."""

    def make() -> None:
        subprocess.run([python, "-m", "venv", packages], check=True)
        subprocess.run([packages / "bin" / "pip", "install", "--quiet", *wanted], check=True)

    install_once(packages, make)


def install_once(packages: Path, make: Callable[[], None]) -> None:
    """Makes an environment unless it is whole; what a failure left is removed first.

    Its mark is written last. It is made in its place: its scripts name it, and would not survive a rename.
    """
    if not (packages / INSTALLED).exists():
        shutil.rmtree(packages, ignore_errors=True)
        make()
        (packages / INSTALLED).touch()
