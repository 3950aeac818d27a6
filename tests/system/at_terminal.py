"""Runs a command on a terminal of its own, as a person would, away from whoever runs the tests.

`at_terminal` starts `python -m tests.system.at_terminal SPEC OUT`: a detached process opens a pseudo-terminal, starts
the command there, waits for each text that the spec names and types what follows it. What was seen goes to OUT.
"""

import codecs
import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

import pyte

from tests.system.house import House, wait_until

SECONDS = 180.0  # for a whole conversation
ROWS, COLUMNS = 50, 160
ONEIROS = (sys.executable, "-c", "from oneiros.cli.main import run; run()")
TAKE_UP = r"Take this up \[[^]]*\]\? "  # what a review asks about a hunk, and at its end
INTERRUPT = "\x03"
SETTLE = (r"Decide this: [^\[]*\[y,u,n,\?\]\? ", "\n")
WORD = (r"type the word (\w+): ", "{1}\n")  # by which a person confirms a decision

# a pattern to wait for, and what is then typed; {1} is the pattern's first group. Where there is a third, a file of
# this name is written with that group, and nothing is typed before it is removed.
Step = Sequence[str]


@dataclass(frozen=True, slots=True)
class Seen:
    """How a conversation at a terminal went."""

    screen: str  # all that was printed; of a program that draws, what stood there at the end
    code: int
    left: Sequence[str]  # the patterns that did not come


def at_terminal(
    house: House,
    steps: Sequence[Step],
    *arguments: str,
    command: Sequence[str] = ONEIROS,
    variables: Mapping[str, str] | None = None,
    folder: Path | None = None,
    draws: bool = False,
) -> Seen:
    """Runs a command in a house, or in a folder of it. `draws`: it moves over the screen rather than printing lines."""
    spec, out = house.folder / "spec.json", house.folder / "screen.json"
    out.unlink(missing_ok=True)
    spec.write_text(json.dumps({"command": [*command, *arguments], "steps": steps, "draws": draws}), encoding="utf-8")
    subprocess.run(
        [sys.executable, "-m", "tests.system.at_terminal", str(spec), str(out)],
        env={**house.variables, "TERM": "dumb", **(variables or {})},
        cwd=folder or house.folder,
        check=True,
        timeout=60,
    )
    wait_until(out.exists, SECONDS + 30)
    return Seen(**json.loads(out.read_text(encoding="utf-8")))


def main() -> None:
    spec, out = Path(sys.argv[1]), Path(sys.argv[2])
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
    wanted = json.loads(spec.read_text(encoding="utf-8"))
    seen = typed(wanted["command"], wanted["steps"], Drawing() if wanted["draws"] else Lines())
    part = out.with_suffix(".part")
    part.write_text(json.dumps(asdict(seen)), encoding="utf-8")
    part.replace(out)


class Screen(Protocol):
    """What a person sees."""

    @property
    def text(self) -> str: ...

    def feed(self, part: bytes) -> None: ...

    def find(self, pattern: str) -> re.Match[str] | None: ...


class Lines:
    """Everything that was printed, line after line; what was found once is not found again."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._printed = ""
        self._seen = 0

    @property
    def text(self) -> str:
        return self._printed.replace("\r\n", "\n")

    def feed(self, part: bytes) -> None:
        self._printed += self._decoder.decode(part)

    def find(self, pattern: str) -> re.Match[str] | None:
        found = re.compile(pattern).search(self._printed, self._seen)
        self._seen = found.end() if found else self._seen
        return found


class Drawing:
    """What stands on the screen of a program that draws."""

    def __init__(self) -> None:
        self._screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self._screen)

    @property
    def text(self) -> str:
        return "\n".join(line.replace("\xa0", " ").rstrip() for line in self._screen.display)

    def feed(self, part: bytes) -> None:
        self._stream.feed(part)

    def find(self, pattern: str) -> re.Match[str] | None:
        return re.search(pattern, self.text, re.MULTILINE)


def typed(command: Sequence[str], steps: Sequence[Step], screen: Screen) -> Seen:
    """Runs the command and types; ends it where it takes too long."""
    process, terminal = pty.fork()
    if process == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        os.execv(command[0], list(command))
    waiting, end = list(steps), time.monotonic() + SECONDS
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                part = os.read(terminal, 65_536)
            except OSError:
                break  # the other end is closed
            if not part:
                break
            screen.feed(part)
        if waiting and (found := screen.find(waiting[0][0])):
            group = found.groups()[0] if found.groups() else ""
            _, answer, *gate = waiting.pop(0)
            if gate:
                Path(gate[0]).write_text(group, encoding="utf-8")
                wait_until(partial(is_gone, Path(gate[0])), SECONDS)
            if INTERRUPT in answer:
                wait_until(partial(is_asleep, process), SECONDS)
            os.write(terminal, answer.replace("{1}", group).encode())
    else:
        os.kill(process, 9)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    return Seen(screen.text, code, [pattern for pattern, _ in waiting])


def is_asleep(process: int) -> bool:
    """Whether its main thread waits for input. An interrupt between the prompt of `input` and its `select` is only
    noticed at the next key, so a prompt that was read is no sign yet that the program listens."""
    return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "S"


def is_gone(file: Path) -> bool:
    return not file.exists()


if __name__ == "__main__":
    main()
