"""What time does to one memory: how alive its sources are, which of them fade, and whether something went missing.

Put together from `lifecycle/` and the indices; it asks them, and notes what can be found alone. Which sessions and
episodes fade, and how far, is a plan: a function of log, marks, files and day. A session fades in what search holds of
it; its file and its turns stay as they are. What is cited, kept or known for less than `fade_days` does not, so no old
session in its first days here. What has ended, by its own dates, or was replaced goes to the attic. Topics are never in
a plan. A part carries one out, and the next index run makes the indices as the marks then say.
"""

import datetime as dt
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory_server.document import LineRange, SourcePath
from memory_server.index.indices import Indices
from memory_server.index.raw import RawIndex
from memory_server.index.schema import SCHEMA_VERSION
from memory_server.layers.mif import MAX_FRONTMATTER_CHARS, parse_frontmatter
from memory_server.layers.sessions import ARCHIVED, cut_id8, find_subject, find_superseded_files, parse_id8
from memory_server.layers.topics import markdown_files, read_text
from memory_server.lifecycle.aliveness import NO_DECAY, Aliveness, Decay, Strength
from memory_server.lifecycle.fading import Level, LevelChange, MarksHeld, Range, read_marks
from memory_server.lifecycle.findable import note_findable
from memory_server.lifecycle.use import UseLog
from memory_server.machine.files import is_plain_file
from memory_server.root.paths import MemoryRoot
from memory_server.settings import PersonSettings

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


@dataclass(frozen=True, slots=True)
class Aging:
    """The sources of one root under the eyes of time. Nothing here reads a clock."""

    root: MemoryRoot
    indices: Indices
    raw: RawIndex | None
    use: UseLog
    person: PersonSettings
    today: dt.date

    def aliveness(self, paths: Collection[str] = ()) -> Aliveness:
        """What is known of the use of some sources, or of all."""
        return Aliveness.of(self.root, self.use, self.person, self.today, paths)

    def measure_use(self, paths: Collection[SourcePath]) -> Mapping[SourcePath, Mapping[str, float]]:
        """How often some sources were found, opened and drilled into, and how alive they are."""
        if not paths:
            return {}
        aliveness = self.aliveness(paths)
        known = {source.path: (source.date, source.kind) for source in self.indices.snapshot().sources.values()}
        found = {}
        for path in dict.fromkeys(paths):
            use = aliveness.use(path)
            alive = aliveness.strength(path, *known.get(path, (None, "")), decay=_read_decay(self._content(path)))
            numbers = {"found": use.found, "opened": use.opened, "drilled": use.drilled}
            found[path] = {**{name: float(count) for name, count in numbers.items()}, "strength": alive.value}
        return found

    def plan(self, citations: Mapping[str, int], wanted: GcWanted | None = None) -> GcPlan:
        """Which sessions and episodes would fade. `citations`: how many statements rest on each subject."""
        wanted = wanted or GcWanted(fade_days=self.person.fade_days)
        marks, opened = read_marks(self.root.marks), self.use.read_opened_lines()
        return plan_gc(list(self._sources()), self.aliveness(), marks, opened, citations, wanted)

    def _sources(self) -> Iterator[FadingSource]:
        """Every session and episode that is not in the attic."""
        days = self.raw.store.read_days() if self.raw is not None else {}
        archived = {cut_id8(name): name for name in days}
        ending, snapshot = self._ending(), self.indices.snapshot()
        for source in snapshot.sources.values():
            if source.path.startswith(("sessions/", "episodes/")) and self.root.file(source.path).exists():
                content, session = self._content(source.path), archived.get(parse_id8(source.path), "")
                yield FadingSource(
                    path=source.path,
                    day=source.date,
                    kind=source.kind,
                    session=session,
                    ended=source.path in ending and self._has_ended(source.path),
                    replaced_by=snapshot.superseded.get(source.path, ""),
                    project=source.project,
                    lines=content.count(b"\n"),
                    decay=_read_decay(content),
                    archived=days.get(session),
                )
        for file in sorted(find_superseded_files(markdown_files(self.root.sessions))):
            yield FadingSource(self.root.relative(file), None, "episodic", replaced_by="a newer file of it")

    def _content(self, path: SourcePath) -> bytes:
        file = self.root.file(path)
        return file.read_bytes() if is_plain_file(file) else b""

    def _ending(self) -> Collection[str]:
        """The sources in whose frontmatter an end may stand."""
        like = "select path from source where layer = 'session' and (body like '%ttl%' or body like '%validUntil%')"
        return {path for (path,) in self.indices.ledger.connection.execute(like)}

    def _has_ended(self, path: SourcePath) -> bool:
        last = parse_frontmatter(read_text(self.root.file(path))).interval().last
        return last is not None and last < self.today

    def note_findable(self) -> None:
        """Counts what can be found, for the loss alarm; references are files of others, and come and go."""
        counts: dict[str, int] = {}
        rows = self.indices.ledger.connection.execute(
            "select layer, count(distinct source.id), count(text_hash) from source"
            " left join chunk on chunk.source = source.id where layer in ('topic', 'session') group by layer"
        )
        for layer, sources, passages in rows:
            counts |= {f"{layer}s": sources, f"passages of {layer}s": passages}
        if self.raw is not None and not self.raw.is_empty:
            turns = self.raw.ledger.connection
            counts["archived sessions"] = turns.execute("select count(*) from source").fetchone()[0]
        note_findable(self.root, counts, f"{self.indices.fingerprint} {SCHEMA_VERSION}", self.today)

    # -- topics, which never fade -------------------------------------------------------------------------------

    def find_unused_topics(self) -> Sequence[tuple[SourcePath, str]]:
        """Topics that nobody finds, and such as are found and never opened, each with what is known of its use."""
        aliveness, found = self.aliveness(), []
        if (self.today - aliveness.since).days < self.person.fade_days:
            return ()  # too little is known yet
        for source in self.indices.snapshot().sources.values():
            use = aliveness.use(source.path)
            if not source.path.startswith("topics/") or use.accesses or source.path in aliveness.to_keep:
                continue
            if source.date and (self.today - source.date).days >= self.person.fade_days:
                reason = f"found {use.found} times and never opened" if use.found else "found by no question"
                found.append((source.path, f"{reason} since {aliveness.since.isoformat()}"))
        return sorted(found)


def _read_decay(content: bytes) -> Decay:
    """What a file says of its decay; most say nothing, and are not parsed."""
    if b"decay" not in content[:MAX_FRONTMATTER_CHARS]:
        return NO_DECAY
    return Decay.of(parse_frontmatter(content.decode("utf-8", "replace")))
