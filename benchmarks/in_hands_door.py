"""What a player has in hand: a step of a conversation, passed to whoever records it, and the messages of transcripts.

    ./play q017 recall '{"query": "..."}'                 in a folder that `benchmarks.in_hands_play` made
    python -m benchmarks.in_hands_door said FILE...       the messages of transcripts, a line each

The standard library alone, since every step is a process of its own.
"""

import json
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

WAITING_SECONDS = 60.0  # for a server that has to start
BLOCK = 65_536


def main() -> None:
    """Prints messages, or passes a step on: `play SOCKET BATCH QUESTION WHAT WORDS`."""
    what, *words = sys.argv[1:]
    if what == "said":
        for file in words:
            print("\n".join(read_messages(Path(file))))
    else:
        print(pass_on(Path(words[0]), words[1:]))


def pass_on(door: Path, words: Sequence[str]) -> str:
    """What the recorder answers to a step."""
    until = time.monotonic() + WAITING_SECONDS
    while True:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            try:
                connection.connect(str(door))
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.5)
                continue
            connection.sendall(json.dumps(words).encode("utf-8"))
            connection.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: connection.recv(BLOCK), b"")).decode("utf-8")


def read_messages(file: Path) -> Iterator[str]:
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


if __name__ == "__main__":
    main()
