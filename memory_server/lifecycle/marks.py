"""What was decided about the fading of sources: an append-only file of the person's state, a line a decision.

A line is written whole or not at all, so a run of `gc` takes effect as a whole. Levels are what `gc` made of use, log
and clock: without the file everything is indexed whole, and the next run finds the same levels again.
"""

import datetime as dt
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

import msgspec

from memory_server.layers.sessions import find_subject
from memory_server.machine.files import append_line, read_records, replace_file

Range = tuple[int, int]  # first and last line or turn, from 1


class Level(IntEnum):
    """How much of a session or episode the indices hold."""

    WHOLE = 0
    STATEMENTS = 1  # the statements of its file, and of its turns those that were opened
    DIGEST = 2  # the statements of its digest, and what was opened
    LINE = 3  # its first statement, and what was opened
    ATTIC = 4  # nothing: its file lies in `sessions/attic/`

    @property
    def in_words(self) -> str:
        return ("turns and statements", "statements", "digest", "line", "attic")[self]


class LevelChange(msgspec.Struct, frozen=True, array_like=True):
    """What becomes of one source."""

    was: Level
    level: Level
    session: str = ""  # its id; empty for an episode
    lines: tuple[Range, ...] = ()  # of the file, which were opened and stay
    turns: tuple[Range, ...] = ()  # of the session likewise

    @property
    def undone(self) -> "LevelChange":
        return LevelChange(self.level, self.was, self.session)


class LifeMark(msgspec.Struct, frozen=True, omit_defaults=True):
    """One decision: a run of `gc` or its undoing, or the person's word for or against keeping something."""

    at: dt.datetime
    changes: dict[str, LevelChange] = {}
    undoes: dt.datetime | None = None
    keep: str = ""  # a subject, see `layers.sessions.find_subject`
    off: bool = False


@dataclass(slots=True)
class MarksHeld:
    """The marks as they stand."""

    levels: dict[str, LevelChange] = field(default_factory=dict)  # by path; those that are whole are left out
    to_keep: set[str] = field(default_factory=set)  # subjects
    runs: list[LifeMark] = field(default_factory=list)  # of gc that were not undone, the oldest first


def add_mark(file: Path, mark: LifeMark) -> None:
    append_line(file, msgspec.json.encode(mark))


def forget_marks(file: Path, subjects: Collection[str]) -> None:
    """Takes some sources out of the file: their paths hold words of their titles."""
    lines = []
    for mark in read_records(file, LifeMark):
        changes = {path: change for path, change in mark.changes.items() if find_subject(path) not in subjects}
        if mark.keep not in subjects and (changes or mark.keep):
            lines.append(msgspec.json.encode(msgspec.structs.replace(mark, changes=changes)) + b"\n")
    if file.exists():
        replace_file(file, b"".join(lines))


def read_marks(file: Path) -> MarksHeld:
    """What holds by all marks together."""
    found = MarksHeld()
    for mark in read_records(file, LifeMark):
        if mark.keep:
            (found.to_keep.discard if mark.off else found.to_keep.add)(mark.keep)
        _follow(found.levels, mark.changes)
        if mark.undoes:
            found.runs = [run for run in found.runs if run.at != mark.undoes]
        elif mark.changes:
            found.runs.append(mark)
    return found


def _follow(levels: dict[str, LevelChange], changes: Mapping[str, LevelChange]) -> None:
    for path, change in changes.items():
        levels.pop(path, None)
        if change.level:
            levels[path] = change
