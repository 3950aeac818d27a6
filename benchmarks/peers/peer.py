"""What a peer is: packages, a place of its own, a command that indexes, and a door for questions."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Timer
from typing import Protocol

from mcp import Client, StdioServerParameters
from mcp.types import TextContent

from benchmarks.answers import MOST, Shown
from memory_server.embedding.model import ModelFiles

OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
WAIT_SECONDS = 300  # for one answer: the first one loads a model, on a machine that has other work
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

    def find_program(self, name: str) -> str:
        return str(self.packages / "bin" / name)


@dataclass(frozen=True, slots=True)
class Setup:
    """How a peer runs in its place. Its door is a tool of a server, or a command where no tool is named."""

    place: Place
    index: Sequence[str]  # what takes all sessions in, again after a kill too
    door: Sequence[str]  # the server, or what a question is put behind
    variables: Mapping[str, str]  # of the environment, beside those that all have
    tool: str = ""
    arguments: Mapping[str, object] = field(default_factory=dict)  # of the tool, beside the question as `query`
    is_structured: bool = False  # whether its JSON stands beside the text
    ending: Sequence[str] = ()  # a command that ends what the door leaves running

    def make_environment(self) -> dict[str, str]:
        """That of this process, with a home of its own, and no way to a hub."""
        own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
        return {**own, **OFFLINE, "HOME": str(self.place.home), **self.variables}


class Peer(Protocol):
    """One memory. What it cannot do as the others do stands in its docstring."""

    requirements: Sequence[str] = ()

    def install(self, packages: Path, source: Path | None) -> None:  # noqa: ARG002  a checkout, where no registry has it
        """Makes its environment, where there is none."""
        subprocess.run(["python3.12", "-m", "venv", packages], check=True)
        subprocess.run([packages / "bin" / "pip", "install", "--quiet", *self.requirements], check=True)

    def prepare(self, place: Place, model: ModelFiles) -> Setup:
        """Lays settings and weights into an empty home."""

    def read_hits(self, answer: str) -> list[Hit]:
        """The hits of an answer, the best first."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What a command took."""

    cpu_seconds: float
    wall_seconds: float
    peak_mb: float  # of the largest process
    is_complete: bool  # whether it ended by itself, without a failure


def install_once(packages: Path, make: Callable[[], None]) -> None:
    """Makes an environment unless it is whole; what a failure left is removed first.

    Its mark is written last. It is made in its place: its scripts name it, and would not survive a rename.
    """
    if not (packages / INSTALLED).exists():
        shutil.rmtree(packages, ignore_errors=True)
        make()
        (packages / INSTALLED).touch()


def run_command(command: Sequence[str], setup: Setup, seconds: float) -> Spent:
    """Runs a command, killed with its children after so many seconds."""
    started, home, variables = time.monotonic(), setup.place.home, setup.make_environment()
    with (home / "commands.log").open("ab") as log:
        process = subprocess.Popen(
            command, cwd=home, env=variables, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    killing = Timer(seconds, os.killpg, (process.pid, signal.SIGKILL))
    killing.daemon = True
    killing.start()
    _, status, usage = os.wait4(process.pid, 0)
    killing.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    taken = time.monotonic() - started
    return Spent(usage.ru_utime + usage.ru_stime, taken, usage.ru_maxrss / 1e3, process.returncode == 0)


def ask_all(peer: Peer, setup: Setup, questions: Sequence[str]) -> list[Shown]:
    """Every question through the peer's door; what fails shows nothing."""
    if setup.tool:
        answers = asyncio.run(ask_server(setup, questions))
    else:
        answers = [ask_command(setup, question) for question in questions]
    if setup.ending:
        run_command(setup.ending, setup, WAIT_SECONDS)
    run = []
    for text, milliseconds in answers:
        hits = peer.read_hits(text) if text else []
        run.append(Shown([passage for _, passage in hits], [session for session, _ in hits], milliseconds))
    return run


async def ask_server(setup: Setup, questions: Sequence[str]) -> list[tuple[str, float]]:
    """The answers of a tool, each with its milliseconds; one question before them loads what is loaded once."""
    server = StdioServerParameters(command=setup.door[0], args=[*setup.door[1:]], env=setup.make_environment())
    answers = []
    async with Client(server, read_timeout_seconds=WAIT_SECONDS) as client:
        for question in ("warm up", *questions):
            started = time.perf_counter()
            answer = await client.call_tool(setup.tool, {"query": question, **setup.arguments})
            text = "\n".join(block.text for block in answer.content if isinstance(block, TextContent))
            text = json.dumps(answer.structured_content) if setup.is_structured else text
            answers.append(("" if answer.is_error else text, (time.perf_counter() - started) * 1_000))
    return answers[1:]


def ask_command(setup: Setup, question: str) -> tuple[str, float]:
    """The answer of a command, with its milliseconds."""
    command, home, variables = [*setup.door, question], setup.place.home, setup.make_environment()
    started = time.perf_counter()
    found = subprocess.run(command, cwd=home, env=variables, capture_output=True, text=True, timeout=WAIT_SECONDS)
    return found.stdout if found.returncode == 0 else "", (time.perf_counter() - started) * 1_000
