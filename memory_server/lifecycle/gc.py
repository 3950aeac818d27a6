"""Which sessions and episodes fade, and how far: a plan that is a function of log, marks, files and day.

A session fades in what search holds of it; its file and its turns stay as they are. What is cited, kept or known for
less than `fade_days` does not, so no old session in its first days here. What has ended, by its own dates, or was
replaced goes to the attic: its file is moved, unchanged.
Topics are never in a plan.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory_server.document import LineRange, SourcePath
from memory_server.layers.episodes import exchange_file
from memory_server.layers.sessions import ARCHIVED, find_subject
from memory_server.layers.topics import markdown_files
from memory_server.lifecycle.aliveness import Aliveness
from memory_server.lifecycle.marks import Level, LevelChange, LifeMark, MarksHeld, Range, add_mark, read_marks
from memory_server.lifecycle.strength import NO_DECAY, Decay, Strength
from memory_server.machine.files import is_plain_file, move
from memory_server.root.paths import MemoryRoot

BELOW = 0.1  # strength below which turns fade; the ancestors' threshold
DIGEST_SHARE, LINE_SHARE = 1 / 4, 1 / 20  # of it, below which statements fade, and the digest
LONG_LINES, OLD_DAYS, WEAK = 100, 30, 0.3  # what is shown with a summary: Mnemonic's rule


@dataclass(frozen=True, slots=True)
class FadingSource:
    """A session or episode as a plan needs it."""

    path: SourcePath
    day: dt.date | None
    kind: str  # MIF type
    session: str = ""  # the id of its turns; empty where there are none
    project: str = ""
    ended: bool = False  # by its own dates
    replaced_by: str = ""
    lines: int = 0
    decay: Decay = NO_DECAY
    archived: dt.date | None = None  # the day on which its last turns were taken in

    @property
    def known_since(self) -> dt.date | None:
        """The day from which it counts: an old session that was just taken in is young."""
        return max(filter(None, (self.day, self.archived)), default=None)


@dataclass(frozen=True, slots=True)
class GcStep:
    """What becomes of one source, and why."""

    source: FadingSource
    strength: Strength
    change: LevelChange
    before: LevelChange | None  # as the marks have it
    is_long: bool = False  # and old or weak: a person wants to know what it says

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why its level is what it is, in words."""
        ended = ("over by its own dates",) if self.source.ended else ()
        replaced = (f"replaced by {self.source.replaced_by}",) if self.source.replaced_by else ()
        return (*self.strength.reasons, *ended, *replaced)

    @property
    def is_change(self) -> bool:
        """Whether its level is another one, or more of it was opened since it faded."""
        if self.change.level is not self.change.was or self.before is None:
            return self.change.level is not self.change.was
        return (self.change.lines, self.change.turns) != (self.before.lines, self.before.turns)


def step_json(step: GcStep) -> dict[str, Any]:
    """One change for programs."""
    return {
        "path": step.source.path,
        "session": step.source.session,
        "strength": round(step.strength.value, 4),
        "reasons": list(step.reasons),
        "is_long": step.is_long,
        "was": int(step.change.was),
        "level": int(step.change.level),
        "to": Level(step.change.level).in_words,
    }


@dataclass(frozen=True, slots=True)
class GcWanted:
    """Which sources, and how far."""

    below: float = BELOW
    fade_days: int = 60  # what is known for less stays whole
    older_than: int = 0  # days; what is older fades to its statements, whatever its strength
    project: str = ""


@dataclass(frozen=True, slots=True)
class GcPlan:
    """What becomes of all sessions and episodes, also of those that stay as they are; the weakest first."""

    steps: tuple[GcStep, ...]

    @property
    def changes(self) -> list[GcStep]:
        return [step for step in self.steps if step.is_change]


def plan_gc(
    sources: Sequence[FadingSource],
    aliveness: Aliveness,
    marks: MarksHeld,
    opened: Mapping[SourcePath, Sequence[LineRange]],
    citations: Mapping[str, int],
    wanted: GcWanted,
) -> GcPlan:
    """What a run would do. `citations`: how many statements rest on a subject; `opened`: lines that were read."""
    steps = []
    for source in sources:
        if wanted.project and source.project.casefold() != wanted.project.casefold():
            continue
        cited = citations.get(find_subject(source.path), 0)
        strength = aliveness.strength(source.path, source.known_since, source.kind, cited, source.decay)
        before = marks.levels.get(source.path)
        level = _level(
            source, strength, aliveness, wanted, is_held=bool(cited) or find_subject(source.path) in aliveness.to_keep
        )
        read = opened if level else {}
        turns, lines = read.get(SourcePath(f"{ARCHIVED}{source.session}"), ()), read.get(source.path, ())
        change = LevelChange(
            before.level if before else Level.WHOLE, level, source.session, _ranges(lines), _ranges(turns)
        )
        age = (aliveness.today - source.day).days if source.day else 0
        is_long = source.lines > LONG_LINES and (age > OLD_DAYS or strength.value < WEAK)
        steps.append(GcStep(source, strength, change, before, is_long))
    steps.sort(key=lambda step: (step.strength.value, step.source.path))
    return GcPlan(tuple(steps))


def _level(source: FadingSource, strength: Strength, aliveness: Aliveness, wanted: GcWanted, *, is_held: bool) -> Level:
    if is_held:
        return Level.WHOLE
    if source.ended or source.replaced_by:
        return Level.ATTIC
    age, known = (
        (aliveness.today - aliveness.began(source.path, day)).days if day else 0
        for day in (source.day, source.known_since)
    )
    if wanted.older_than and age > wanted.older_than and strength.value >= wanted.below:
        return Level.STATEMENTS
    if known < wanted.fade_days or strength.value >= wanted.below:
        return Level.WHOLE
    if strength.value >= wanted.below * DIGEST_SHARE:
        return Level.STATEMENTS
    return Level.DIGEST if strength.value >= wanted.below * LINE_SHARE else Level.LINE


def _ranges(lines: Sequence[LineRange]) -> tuple[Range, ...]:
    return tuple((one.first, one.last) for one in lines)


# -- carried out ----------------------------------------------------------------------------------------------------


def carry_out(root: MemoryRoot, steps: Sequence[GcStep], at: dt.datetime) -> None:
    """Notes a run and moves what goes to the attic; a kill between leaves files that `settle` moves."""
    if steps:
        add_mark(root.marks, LifeMark(at, {step.source.path: step.change for step in steps}))
    settle(root)


def undo(root: MemoryRoot, at: dt.datetime) -> LifeMark | None:
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
