"""A plan of fading, carried out and taken back: marks are noted, and what goes to the attic is moved, unchanged."""

import datetime as dt
from collections.abc import Sequence
from pathlib import Path

from memory_server.layers.episodes import exchange_file
from memory_server.layers.topics import markdown_files
from memory_server.lifecycle.fading import Level, LifeMark, add_mark, read_marks
from memory_server.lifecycle.gc import GcStep
from memory_server.machine.files import is_plain_file, move
from memory_server.root.paths import MemoryRoot


def carry_out(root: MemoryRoot, steps: Sequence[GcStep], at: dt.datetime) -> None:
    """Notes a run and moves what goes to the attic; a kill between leaves files that `settle` moves."""
    if steps:
        add_mark(root.marks, LifeMark(at, {step.source.path: step.change for step in steps}))
    settle(root)


def take_back(root: MemoryRoot, at: dt.datetime) -> LifeMark | None:
    """Takes the last run back; None where there is none."""
    runs = read_marks(root.marks).runs
    if not runs:
        return None
    changes = {path: change.undone for path, change in runs[-1].changes.items()}
    add_mark(root.marks, LifeMark(at, changes, undoes=runs[-1].at))
    settle(root)
    return runs[-1]


def settle(root: MemoryRoot) -> None:
    """Brings files and marks into accord: in the attic lies what the marks say, and nothing else that they name."""
    away = {path for path, change in read_marks(root.marks).levels.items() if change.level is Level.ATTIC}
    for path in away:
        if (root.path / path).exists():
            _move_whole(root.path / path, root.path / in_attic(path))
    for file in markdown_files(root.attic):
        home = root.path / find_home(root.relative(file))
        if str(home.relative_to(root.path)) not in away and not home.exists():
            _move_whole(file, home)


def _move_whole(file: Path, new: Path) -> None:
    """Moves a file behind what it was made from, so that a kill between leaves it where it is found again."""
    if is_plain_file(exchange_file(file)):
        move(exchange_file(file), exchange_file(new))
    move(file, new)


def in_attic(path: str) -> str:
    """Where a session or episode lies that is in the attic."""
    return f"sessions/attic/{path.removeprefix('sessions/')}"


def find_home(path: str) -> str:
    """Where a file of the attic lay."""
    rest = path.removeprefix("sessions/attic/")
    return rest if rest.startswith("episodes/") else f"sessions/{rest}"
