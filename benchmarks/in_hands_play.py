"""A conversation played by somebody outside, through the real server or over the transcripts, and recorded.

    python -m benchmarks.in_hands_play list               what a model reads of the server before it asks anything
    python -m benchmarks.in_hands_play call --question ID --log FILE '{"tool": "recall", "arguments": {"query": "..."}}'
    python -m benchmarks.in_hands_play grep --question ID --log FILE 'grep -rn word . | head'
    python -m benchmarks.in_hands_play answer --question ID --arm tools --log FILE 'WORDS'
    python -m benchmarks.in_hands_play said FILE...       the messages of transcripts, a line each, for the other arm

`call` and `grep` print what comes back and add a line to the recording: question, call, characters, and whether the
text holds the answer, which is not told. A command of `grep` runs in the folder of the transcripts, where `said FILE`
is a command too. `benchmarks.in_hands` asks what was recorded again.
"""

import argparse
import asyncio
import datetime as dt
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mcp import Client

from benchmarks.in_hands import Asked, call_once, find_home, opened, read_questions
from benchmarks.systems import catalogue
from memory_server.faces.mcp_server import INSTRUCTIONS, create_server
from memory_server.memory import Memory
from memory_server.root.paths import MemoryRoot
from memory_server.settings import PersonSettings

GREP_CHARS = 10_000  # of one answer of the shell, as a client cuts it
SHELL_SECONDS = 60
SAID = f'said() {{ PYTHONPATH={Path(__file__).parents[1]} {sys.executable} -m benchmarks.in_hands_play said "$@"; }}'


def main() -> None:
    """Reads the command line and does one of the things above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("list", "call", "grep", "answer", "said"))
    parser.add_argument("words", nargs="*", help="a call as JSON, a command, an answer, or files")
    parser.add_argument("--question", help="the id of the question")
    parser.add_argument("--arm", choices=("tools", "grep"), default="tools")
    parser.add_argument("--log", type=Path, help="the recording that is added to")
    parser.add_argument("--shared", type=Path, default=Path("../shared"), help="the folder of both sets of shared data")
    parser.add_argument("--cache", type=Path, default=Path("benchmarks/out/answers"), help="that of benchmarks.answers")
    options = parser.parse_intermixed_args()
    if options.what == "said":
        for file in options.words:
            print("\n".join(messages_in(Path(file))))
    elif options.what == "list":
        print(list_tools())
    else:
        play(options, " ".join(options.words))


def play(options: argparse.Namespace, words: str) -> None:
    """One step of a conversation: a call, a command or the answer."""
    one = next(one for one in read_questions(options.shared) if one.id == options.question)
    if options.what == "answer":
        log_call(options.log, one, {"arm": options.arm, "answer": words}, words)
        return
    home = find_home(one.of, options.shared.resolve(), options.cache.resolve())
    if options.what == "grep":
        text, row = run_shell(words, home / "live"), dict[str, Any](arm="grep", call=words)
    else:
        call = json.loads(words)
        with opened(home) as memory:
            text = call_once(memory, call["tool"], call.get("arguments", {}))
        row = {"arm": "tools", "call": {"tool": call["tool"], "arguments": call.get("arguments", {})}}
    log_call(options.log, one, row, text)
    print(text)


def log_call(log: Path, one: Asked, row: Mapping[str, Any], text: str) -> None:
    """Adds a line to a recording. The text itself is not kept: the program is asked again."""
    with log.open("a", encoding="utf-8") as file:
        told = {"question": one.id, **row, "characters": len(text), "held": one.is_answered_by(text)}
        file.write(json.dumps(told, ensure_ascii=False) + "\n")


def run_shell(command: str, folder: Path) -> str:
    """What a command prints in the folder of the transcripts, cut as a client cuts it."""
    done = subprocess.run(
        ["/bin/bash", "-c", f"{SAID}\n{command}"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SHELL_SECONDS,
        check=False,
    )
    return (done.stdout + done.stderr)[:GREP_CHARS]


def messages_in(file: Path) -> Iterator[str]:
    """The text of every message of a transcript, behind its line and role."""
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            message = json.loads(line).get("message") or {}
        except (ValueError, AttributeError):
            continue
        content = message.get("content") if isinstance(message, dict) else None
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        for part in parts:
            if isinstance(part, dict) and part.get("type") == "text":
                yield f"{file.name[:8]}:{number} {message.get('role')}: {' '.join(part['text'].split())}"


def list_tools() -> str:
    """What a model reads of the server: instructions, and each tool with its schema."""

    async def run(memory: Memory) -> list[str]:
        async with Client(create_server(memory, "benchmark")) as client:
            tools = (await client.list_tools()).tools
        return [f"{tool.name}: {tool.description}\n  {json.dumps(tool.input_schema)}" for tool in tools]

    with TemporaryDirectory() as folder:
        root = MemoryRoot(Path(folder) / "memory", Path(folder) / "state")
        root.derived.mkdir(parents=True)
        root.index_page.write_text("# Memory\n", encoding="utf-8")
        now = dt.datetime.now(dt.UTC)
        with Memory(root, person=PersonSettings(), catalogue=catalogue(), now=lambda: now) as memory:
            return "\n".join([INSTRUCTIONS, *asyncio.run(run(memory))])


if __name__ == "__main__":
    main()
