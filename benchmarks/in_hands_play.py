"""Conversations played by a model, through the real server or over the transcripts, and recorded.

    python -m benchmarks.in_hands_play prepare FOLDER     batches of questions for players, a folder for each and arm
    python -m benchmarks.in_hands_play serve FOLDER       answers their steps, as long as it runs
    python -m benchmarks.in_hands_play pack FOLDER        what was recorded, into `benchmarks/in_hands`

A batch is a folder with the prompt (README.md, of `in_hands/tools.md` or `in_hands/grep.md`), ten questions under blind
names, and `./play`, which passes a step to the server. What comes back is recorded with the step, as the player read
it: a command's answer cut as a client cuts it, and the first one of a question to FIRST_SHELL_CHARS.
"""

import argparse
import asyncio
import datetime as dt
import hashlib
import json
import lzma
import socketserver
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mcp import Client

from benchmarks.in_hands import FOLDERS, RECORDINGS, PlayedQuestion, call_once, find_home, open_kept, read_questions
from benchmarks.layouts import read_lines
from benchmarks.systems import catalogue
from memory_server.faces.mcp_server import INSTRUCTIONS, create_server
from memory_server.memory import Memory
from memory_server.root.paths import MemoryRoot
from memory_server.settings import PersonSettings

ARMS = ("tools", "grep")
BATCHES = 10
ANSWERABLE = 80  # of the questions that have an answer
FIRST_SHELL_CHARS = 4_000  # of what the first command of a question prints: an answer of the server has half of them
SHELL_CHARS = 10_000  # of the others, as a client cuts them
SHELL_SECONDS = 60
TREE = Path(__file__).parents[1]
PYTHON = f"PYTHONPATH={TREE} {sys.executable}"
SAID_COMMAND = f'said() {{ {PYTHON} -m benchmarks.in_hands_door said "$@"; }}'
PLAY = f'#!/bin/sh\nexec env {PYTHON} -m benchmarks.in_hands_door play %s %s "$@"\n'
KEY, DOOR, RECORDING = "questions.json", "door", "recording.jsonl"


def main() -> None:
    """Reads the command line and does one of the things above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("prepare", "serve", "pack"))
    parser.add_argument("folder", type=Path, help="where the batches lie")
    parser.add_argument("--shared", type=Path, default=Path("../shared"), help="the folder of both sets of shared data")
    parser.add_argument("--cache", type=Path, default=Path("benchmarks/out/answers"), help="that of benchmarks.answers")
    options = parser.parse_args()
    folder, questions = options.folder.resolve(), read_questions(options.shared)
    if options.what == "prepare":
        prepare(folder, deal(questions))
    elif options.what == "pack":
        pack(folder, RECORDINGS)
    else:
        homes = {name: find_home(name, options.shared.resolve(), options.cache.resolve()) for name in FOLDERS}
        serve(folder, {one.id: one for one in questions}, homes)


# -- batches --------------------------------------------------------------------------------------------------------


def deal(questions: Sequence[PlayedQuestion]) -> list[list[PlayedQuestion]]:
    """Batches of ANSWERABLE questions, of each project its share, and all without an answer, in an order of chance."""
    by_project = sorted((one for one in questions if one.must), key=lambda one: (one.project, _chance(one)))
    step = len(by_project) / ANSWERABLE
    taken = [by_project[int(number * step)] for number in range(ANSWERABLE)]
    dealt = [*taken, *(one for one in questions if not one.must)]
    return [sorted(dealt[number::BATCHES], key=_chance) for number in range(BATCHES)]


def _chance(one: PlayedQuestion) -> str:
    return hashlib.sha256(one.id.encode()).hexdigest()


def prepare(folder: Path, batches: Sequence[Sequence[PlayedQuestion]]) -> None:
    """Writes the folders of all batches, and beside them which question a blind name stands for."""
    names = {one.id: f"q{number:03}" for number, one in enumerate((one for batch in batches for one in batch), start=1)}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / KEY).write_text(json.dumps({name: key for key, name in names.items()}, indent=1), encoding="utf-8")
    for arm in ARMS:
        prompt = (RECORDINGS / f"{arm}.md").read_text(encoding="utf-8").replace("{tools}", list_tools())
        for number, batch in enumerate(batches, start=1):
            own = folder / f"{arm}-{number:02}"
            own.mkdir(exist_ok=True)
            questions = "\n".join(f"- {names[one.id]}: {one.text}" for one in batch)
            (own / "README.md").write_text(prompt.replace("{questions}", questions), encoding="utf-8")
            (own / "play").write_text(PLAY % (folder / DOOR, own.name), encoding="utf-8")
            (own / "play").chmod(0o755)


def list_tools() -> str:
    """What a model reads of the server: instructions, and each tool with its schema."""

    async def run(memory: Memory) -> list[str]:
        async with Client(create_server(memory, "benchmark")) as client:
            tools = (await client.list_tools()).tools
        return [f"{tool.name}: {tool.description}\n  {json.dumps(tool.input_schema)}" for tool in tools]

    with TemporaryDirectory() as folder:
        root = MemoryRoot(Path(folder) / "memory", Path(folder) / "state")
        root.derived_folder.mkdir(parents=True)
        root.index_page.write_text("# Memory\n", encoding="utf-8")
        now = dt.datetime.now(dt.UTC)
        with Memory(root, person=PersonSettings(), catalogue=catalogue(), now=lambda: now) as memory:
            return "\n".join([INSTRUCTIONS, *asyncio.run(run(memory))])


# -- steps ----------------------------------------------------------------------------------------------------------


class Recorder:
    """Carries out the steps of all players and adds each to the recording of its batch."""

    def __init__(
        self,
        folder: Path,
        questions: Mapping[str, PlayedQuestion],
        memories: Mapping[str, Memory],
        live: Mapping[str, Path],
    ):
        """`memories` and `live`, the folder of their transcripts, by the name of a set."""
        self._folder = folder
        self._questions = questions
        self._memories = memories
        self._live = live
        self._key: dict[str, str] = json.loads((folder / KEY).read_text(encoding="utf-8"))
        self._turn = threading.Lock()

    def step(self, batch: str, name: str, what: str, words: str) -> str:
        """What a player reads of a step: of a tool or a command, or that an answer was taken down."""
        if name not in self._key:
            return f"there is no question {name}"
        file, one = self._folder / batch / RECORDING, self._questions[self._key[name]]
        before = [row for row in (read_lines(file) if file.exists() else []) if row["question"] == one.id]
        if any("answer" in row for row in before):
            return f"{name} is answered; go on with the next question"
        row: dict[str, Any] = {"question": one.id, "arm": batch.partition("-")[0]}
        if what == "answer":
            row, text = row | {"answer": words}, f"{name}: answer taken down"
        elif row["arm"] == "grep":
            printed = run_shell(words, self._live[one.of])
            text = printed[: SHELL_CHARS if before else FIRST_SHELL_CHARS]
            row |= {"call": words, "text": text}
        else:
            try:
                arguments = json.loads(words or "{}")
            except ValueError as error:
                return f"the arguments are no JSON: {error}"
            with self._turn:
                text = call_once(self._memories[one.of], what, arguments)
            row |= {"call": {"tool": what, "arguments": arguments}, "text": text}
        with self._turn, file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
        return text


def run_shell(command: str, folder: Path) -> str:
    """What a command prints in the folder of the transcripts, where `said FILE...` is one too."""
    shell = ["timeout", str(SHELL_SECONDS), "/bin/bash", "-c", f"{SAID_COMMAND}\n{command}"]
    done = subprocess.run(shell, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return (done.stdout + done.stderr).decode("utf-8", errors="replace")


def serve(folder: Path, questions: Mapping[str, PlayedQuestion], homes: Mapping[str, Path]) -> None:
    """Takes steps at the door of a folder until it is stopped."""
    with ExitStack() as stack:
        memories = {name: stack.enter_context(open_kept(home)) for name, home in homes.items()}
        recorder = Recorder(folder, questions, memories, {name: home / "live" for name, home in homes.items()})

        class Step(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                batch, name, what, *words = json.loads(self.rfile.read())
                self.wfile.write(recorder.step(batch, name, what, " ".join(words)).encode("utf-8"))

        (folder / DOOR).unlink(missing_ok=True)
        server = stack.enter_context(socketserver.ThreadingUnixStreamServer(str(folder / DOOR), Step))
        server.serve_forever()


def pack(folder: Path, target: Path) -> None:
    """Writes the recordings of each arm into one packed file."""
    for arm in ARMS:
        lines = [file.read_bytes() for file in sorted(folder.glob(f"{arm}-*/{RECORDING}"))]
        (target / f"{arm}.jsonl.xz").write_bytes(lzma.compress(b"".join(lines), preset=9))


if __name__ == "__main__":
    main()
