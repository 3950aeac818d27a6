"""`oneiros-hook`: hands what a hook of Claude Code was told to the daemon, prints what it says, and ends.

A hook must never stand in the way: whatever happens it ends within its time with exit code 0 and nothing on stderr,
and where the daemon is missing or slow it says nothing. The standard library alone; it starts no daemon, takes no lock.
"""

import json
import os
import signal
import sys

from oneiros.runtime import chosen_root, connected, read_token, request

SECONDS = 1.0  # in all
MAX_INPUT = 1 << 20  # bytes of what the client tells
MAX_OUTPUT = 10_000  # characters; more is cut off by the client anyway


def run() -> None:
    """The console script. Never returns: the process ends with 0."""
    try:
        signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        text = answer(sys.argv[1] if len(sys.argv) > 1 else "")
        if text:
            os.write(1, text.encode("utf-8", "replace"))
    except BaseException:  # noqa: BLE001, S110  the outermost frame: a failing hook would block the person's typing
        pass
    os._exit(0)  # no flushing, no late complaint about a closed pipe


def answer(event: str) -> str:
    """What the daemon has to say about an event; empty where it has nothing, or is not there."""
    told = _read_input()
    root = chosen_root(os.environ, os.getcwd(), os.path.expanduser("~"))
    connection = connected(os.environ, root, "http")
    if connection is None:
        return ""
    body = json.dumps({"event": event, "input": told}).encode()
    status, said = request(connection, read_token(root), "POST", "/api/hook", body, SECONDS)
    output = json.loads(said).get("output", "") if status == 200 else ""
    return output[:MAX_OUTPUT] if isinstance(output, str) else ""


def _read_input() -> object:
    """The JSON on stdin; None where there is none or too much of it."""
    if os.isatty(0):
        return None
    parts, size = [], 0
    while part := os.read(0, 65_536):
        parts.append(part)
        size += len(part)
        if size > MAX_INPUT:
            return None
    try:
        return json.loads(b"".join(parts))
    except ValueError:
        return None


if __name__ == "__main__":
    run()
