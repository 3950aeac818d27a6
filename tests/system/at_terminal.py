"""Runs a command on a terminal of its own, as a person would, away from whoever runs the tests.

`python -m tests.system.at_terminal SPEC OUT`: a detached process opens a pseudo-terminal, starts the command there,
waits for each text that the spec names and types what follows it. Screen and exit code go to OUT.
"""

import json
import os
import pty
import re
import select
import sys
import time
from pathlib import Path

SECONDS = 120.0


def main() -> None:
    spec, out = Path(sys.argv[1]), Path(sys.argv[2])
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
    wanted = json.loads(spec.read_text(encoding="utf-8"))
    screen, code = typed(wanted["command"], wanted["steps"])
    part = out.with_suffix(".part")
    part.write_text(json.dumps({"screen": screen, "code": code}), encoding="utf-8")
    part.replace(out)


def typed(command: list[str], steps: list[list[str]]) -> tuple[str, int]:
    """What the command showed, and its exit code. In what is typed, {1} is the first group of the text waited for."""
    process, terminal = pty.fork()
    if process == 0:
        os.execv(command[0], command)
    screen, seen, end = "", 0, time.monotonic() + SECONDS
    waiting = [(re.compile(pattern), answer) for pattern, answer in steps]
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                part = os.read(terminal, 4096)
            except OSError:
                break  # the other end is closed
            if not part:
                break
            screen += part.decode("utf-8", "replace")
        if waiting and (found := waiting[0][0].search(screen, seen)):
            seen = found.end()
            groups = found.groups()
            os.write(terminal, waiting.pop(0)[1].replace("{1}", groups[0] if groups else "").encode())
    else:
        os.kill(process, 9)
    return screen, os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


if __name__ == "__main__":
    main()
