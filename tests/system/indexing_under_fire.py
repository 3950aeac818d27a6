"""A process whose children index a memory and are killed at random moments; prints what came of it as JSON lines.

Run as `python -m tests.system.indexing_under_fire FOLDER KILLS SEED`. The libraries are imported once and every build
runs in a fork, since importing them takes longer than a build. Each line tells whether the child was killed, and at
the times when the indices were repaired, whether what they say equals a build from nothing.
"""

import json
import os
import random
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import memory_server.embedding.onnx_engine  # imported before the forks
import memory_server.index.semantic  # noqa: F401
from memory_server.root.paths import MemoryRoot
from tests.memories import new_root, open_memory, root_at, write_topic
from tests.states import WordEngine, differences, state_of

WORDS = "relay port server queue ledger vector cache lock token archive panel invoice robot valve wheel copper".split()
QUESTIONS = ("relay port", "invoice robot wheel", "copper valve", "token NOT archive")
KILLED, DONE = 1, 0


def main(folder: Path, kills: int, seed: int) -> None:
    """Kills so often, each time after other changes, and repairs now and then."""
    chance = random.Random(seed)
    root = new_root(folder / "memory")
    repaired_every = 3
    change(root, chance)
    began = time.monotonic()
    assert in_child(partial(index, root)) == DONE
    longest = time.monotonic() - began  # of a run; grows until some children get to their end
    for number in range(kills):
        change(root, chance)
        died = in_child(partial(index, root, kill_after=chance.uniform(0, longest)))
        longest *= 0.9 if died == DONE else 1.05
        say(json.dumps({"killed": died == -signal.SIGKILL, "code": died}))
        if number % repaired_every == repaired_every - 1 or number == kills - 1:
            say(json.dumps(compared(root, folder)))


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def change(root: MemoryRoot, chance: random.Random) -> None:
    """Writes, rewrites and removes some topics."""
    for _ in range(chance.randint(3, 12)):
        name = f"t{chance.randrange(30)}"
        file = root.topics / f"{name}.md"
        if file.exists() and chance.random() < 0.3:
            file.unlink()
        else:
            sections = chance.randint(1, 6)
            body = "\n\n".join(f"## Part {part}\n\n{sentence(chance)}" for part in range(sections))
            write_topic(root, name, f"# Topic {name}\n\n{body}\n")


def sentence(chance: random.Random) -> str:
    return " ".join([*chance.choices(WORDS, k=90), str(chance.randrange(10**9))])


def in_child(work: Callable[[], None]) -> int:
    """Runs something in a fork; its exit code, negative for a signal."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(DONE)
        except BaseException:  # noqa: BLE001  the outermost of its process
            sys.excepthook(*sys.exc_info())
            os._exit(KILLED)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def index(root: MemoryRoot, kill_after: float | None = None) -> None:
    with open_memory(root, WordEngine) as memory:
        if kill_after is not None:
            timer = threading.Timer(kill_after, os.kill, (os.getpid(), signal.SIGKILL))
            timer.daemon = True
            timer.start()
        memory.reindex()
        if kill_after is not None:
            timer.cancel()


def compared(root: MemoryRoot, folder: Path) -> dict[str, object]:
    """Repairs by an ordinary reindex and compares with a build from nothing."""
    fresh = root_at(folder / "fresh")
    shutil.rmtree(fresh.path, ignore_errors=True)
    shutil.copytree(root.path, fresh.path, ignore=shutil.ignore_patterns(".oneiros"))
    codes = []
    for place, file in ((root, folder / "repaired.json"), (fresh, folder / "fresh.json")):
        codes.append(in_child(partial(note_state, place, file)))
    if any(codes):
        return {"equal": False, "why": f"exit codes {codes}"}
    repaired, built = (json.loads((folder / f"{name}.json").read_text()) for name in ("repaired", "fresh"))
    different = differences(repaired, built)
    return {"equal": not different, "why": ", ".join(different)}


def note_state(root: MemoryRoot, file: Path) -> None:
    with open_memory(root, WordEngine) as memory:
        memory.reindex()
        again = memory.reindex()
        state = state_of(memory, QUESTIONS) | {"again": [again.changed, again.removed, again.embedded]}
        file.write_text(json.dumps(state), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
