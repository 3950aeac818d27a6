"""A process whose children decide about hunks and are killed at a chosen step; prints what came of it as JSON lines.

Run as `python -m tests.dream.accepting_under_fire FOLDER SEED ROUNDS`. The journal tells of each of its steps at debug
level: a child kills itself at one of these. After each kill the next process is another child that only takes the lock.
Then topic, commit, approvals and hunk must all say the same, the old or the new.
"""

import json
import logging
import os
import random
import shutil
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from dream.changes import Event
from dream.decisions.approvals import read_approvals
from dream.records import State
from memory_server.root.paths import MemoryRoot
from tests.dream.builders import PERSON, begin_history, decisions_on, extending, git, new_topic, proposed, replacing
from tests.memories import new_root, write_topic

MAIL = "# Mail\n\n- The relay listens on port 2525.\n- It runs on the old server.\n"
STEPS = 12  # more than any decision has: the last children get to their end
TRIES = 20


def main(folder: Path, seed: int, rounds: int) -> None:
    chance = random.Random(seed)
    for number in range(rounds):
        for step in range(STEPS):
            root = begin(folder / f"{number}-{step}")
            name, before = prepare(root, number, chance)
            code = in_child(lambda root=root, name=name, step=step: decide(root, name, step))  # type: ignore[misc]
            at_once = look_whole(root, name)
            repaired = in_child(lambda root=root: repair(root))  # type: ignore[misc]
            found = {"killed": code == -signal.SIGKILL, "step": step, "at_once": at_once, "repaired": repaired}
            sys.stdout.write(json.dumps(found | look(root, name) | {"was": before}) + "\n")
            sys.stdout.flush()
            shutil.rmtree(root.path)
        at_any_moment(folder / f"{number}-any", number, chance)


def at_any_moment(folder: Path, number: int, chance: random.Random) -> None:
    """The same with a kill at a random time, inside a step or a call of git."""
    root = begin(folder)
    name, _ = prepare(root, number, chance)
    code = in_child(lambda: decide(root, name, STEPS, after=chance.uniform(0.0, 0.6)))
    at_once, repaired, tries = look_whole(root, name), 1, 0
    while repaired and tries < TRIES:  # a call of git that outlived its caller may still hold a lock
        repaired, tries = in_child(lambda: repair(root)), tries + 1
    found = {"killed": code == -signal.SIGKILL, "step": "any", "at_once": at_once, "repaired": repaired}
    sys.stdout.write(json.dumps(found | look(root, name)) + "\n")
    shutil.rmtree(root.path)


def begin(folder: Path) -> MemoryRoot:
    root = new_root(folder)
    write_topic(root, "mail", MAIL, id="mail", type="semantic", created="2026-01-01", modified="2026-01-01")
    begin_history(root.path)
    return root


def prepare(root: MemoryRoot, number: int, chance: random.Random) -> tuple[str, str]:
    """A hunk to be decided about, and the state it is in: pending, or accepted and to be reverted."""
    update = [
        lambda: replacing(root, "The relay listens on port 2526.", "2525"),
        lambda: extending(root, "It needs TLS.", "old server"),
        lambda: new_topic("Backups run at 03:00.", "backups"),
    ][number % 3]()
    decisions = decisions_on(root, dream_history=chance.choice(["git", "topic"]))
    [hunk] = proposed(decisions, update)
    if number % 2:
        decisions.accept(hunk.id, PERSON)
    return hunk.id, "accepted" if number % 2 else "pending"


class KillAt(logging.Handler):
    """Kills this process at the n-th step that the journal tells of."""

    def __init__(self, step: int):
        super().__init__()
        self._left = step

    def emit(self, record: logging.LogRecord) -> None:
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self._left -= 1


def die_at(step: int) -> None:
    """Has this process kill itself at a step of the journal."""
    journal = logging.getLogger("dream.decisions.journal")
    journal.setLevel(logging.DEBUG)
    journal.addHandler(KillAt(step))


def decide(root: MemoryRoot, name: str, step: int, *, after: float | None = None) -> None:
    """Decides, and is killed at a step, or after some seconds."""
    if after is not None:
        timer = threading.Timer(after, os.kill, (os.getpid(), signal.SIGKILL))
        timer.daemon = True
        timer.start()
    die_at(step)
    decisions = decisions_on(root)
    if decisions.store.hunk(name).state is State.ACCEPTED:
        decisions.revert(name, PERSON)
    else:
        decisions.accept(name, PERSON)


def repair(root: MemoryRoot) -> None:
    decisions_on(root).find_unexplained()


def look_whole(root: MemoryRoot, name: str) -> bool:
    """Whether the target is the old file or the new one, before anybody has repaired anything."""
    file = root.path / decisions_on(root).store.hunk(name).target
    return not file.exists() or file.read_text(encoding="utf-8").endswith("\n")


def look(root: MemoryRoot, name: str) -> dict[str, object]:
    """Whether files, commit, approvals and hunk agree, and on what."""
    store = decisions_on(root).store
    hunk = store.hunk(name)
    file = root.path / hunk.target
    is_in_file = file.exists() and hunk.text in file.read_text(encoding="utf-8")
    clean = git(root.path, "status", "--porcelain", "--", "topics", "MEMORY.md", "lessons.md") == ""
    events = [one.event for one in store.approvals() if one.hunk == name]
    is_approved = bool(events) and events[-1] is Event.ACCEPTED
    commits = int(git(root.path, "rev-list", "--count", "HEAD"))
    agree = is_in_file == is_approved == (hunk.state is State.ACCEPTED) and commits == 1 + len(events)
    explained = not read_approvals(root, "").find_unexplained()
    return {"agree": agree and clean and explained, "state": hunk.state.value}


def in_child(work: Callable[[], None]) -> int:
    """Runs something in a fork; its exit code, negative for a signal."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:  # noqa: BLE001  the outermost of its process
            sys.excepthook(*sys.exc_info())
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
