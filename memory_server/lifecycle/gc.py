"""Which sessions and episodes fade, and how far: a plan that is a function of log, marks, files and day.

A session fades in what search holds of it; its file and its turns stay as they are. What is cited, kept or known for
less than `fade_days` does not, so no old session in its first days here. What has ended, by its own dates, or was
replaced goes to the attic. Topics are never in a plan.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory_server.document import LineRange, SourcePath
from memory_server.layers.sessions import ARCHIVED, find_subject
from memory_server.lifecycle.aliveness import NO_DECAY, Aliveness, Decay, Strength
from memory_server.lifecycle.fading import Level, LevelChange, MarksHeld, Range

BELOW = 0.1  # strength below which turns fade; the ancestors' threshold
DIGEST_SHARE, LINE_SHARE = 1 / 4, 1 / 20  # of it, below which statements fade, and the digest
LONG_LINES, OLD_DAYS, WEAK = 100, 30, 0.3  # what is shown with a summary: Mnemonic's rule


def find_known_since(day: dt.date | None, archived: dt.date | None) -> dt.date | None:
    """The day from which a source counts, of its own day and its ingest: an old session just taken in is young."""
    return max(filter(None, (day, archived)), default=None)


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
        """The day from which it counts."""
        return find_known_since(self.day, self.archived)


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
