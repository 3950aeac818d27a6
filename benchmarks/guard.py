"""What the guard in front of an assistant's shell costs, and how often it denies what assistants really ran.

    python -m benchmarks.guard --data ../shared/data/transcripts

Every shell command of the transcripts is judged as if a memory lay in the home and another in the project. Those that
name a folder of documents are then judged with the topics of the project's memory in its place: of these, reading must
pass. It judges alone; whole processes are measured by `benchmarks.process`.
"""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.machine import machine_text
from benchmarks.metrics import percentile
from crawler.transcripts.transcript import open_transcript
from oneiros.light.hook import GUARDED
from parts.guard.protected import reason_to_deny

DOCUMENTS = ("docs/", ".planning/")
TOPICS = "memory/topics/"


def main() -> None:
    """Reads the command line, judges and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--show", action="store_true", help="print what is denied, to be read by a person")
    options = parser.parse_args()

    commands = sorted({one for file in options.data.rglob("*.jsonl*") for one in shell_commands(file)})
    moved = [(folder, text.replace(old, TOPICS)) for folder, text in commands for old in DOCUMENTS if old in text]
    named = sum(any(mark.decode() in text for mark in GUARDED) for _, text in commands)
    print(machine_text())
    print(f"{len(commands)} commands of {options.data.name}; {100 * named / len(commands):.1f} % are worth a process")
    report("as they were", commands, is_shown=options.show)
    report("documents as topics", moved, is_shown=options.show)


def shell_commands(file: Path) -> Iterator[tuple[str, str]]:
    """Each shell command of a transcript with the folder in which it ran."""
    with open_transcript(file) as stream:
        for line in stream:
            try:
                entry = json.loads(line)
                parts = entry["message"]["content"]
            except (ValueError, TypeError, KeyError):
                continue
            for part in parts if isinstance(parts, list) else ():
                if isinstance(command := _find_command(part), str):
                    yield entry.get("cwd") or "/", command


def _find_command(part: Any) -> object:
    is_shell = isinstance(part, dict) and part.get("type") == "tool_use" and part.get("name") == "Bash"
    return part["input"].get("command") if is_shell and isinstance(part.get("input"), dict) else None


def report(name: str, commands: Sequence[tuple[str, str]], *, is_shown: bool) -> None:
    """Prints how many of the commands are denied and how long judging one takes."""
    seconds, denied = [], []
    for folder, text in commands:
        home = "/".join(folder.split("/")[:3])
        roots = [f"{home}/.oneiros/memory", f"{folder}/memory", f"{'/'.join(folder.split('/')[:5])}/memory"]
        begin = time.perf_counter()
        if reason_to_deny("Bash", {"command": text}, folder, roots, {"HOME": home}):
            denied.append(text)
        seconds.append(time.perf_counter() - begin)
    middle, late = (1e3 * percentile(seconds, share) for share in (0.5, 0.99))
    print(f"{name}: {len(denied)} of {len(commands)} denied; judging one {middle:.2f} ms, p99 {late:.2f} ms")
    for text in denied if is_shown else ():
        print("   ", text.replace("\n", "\\n")[:200])


if __name__ == "__main__":
    main()
