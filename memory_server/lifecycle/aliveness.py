"""How alive a source is, in [0, 1]: computed from its use, the person's marks and what rests on it; never written.

ACT-R's base level over every real access, B = ln(sum of t^-d) with d = 1/2 (Anderson and Schooler 1991), and its chance
of retrieval, P = 1 / (1 + e^((tau - B) / s)) with tau = 0 and s = 1/2. An access of age t is worth (1 + 3 t / h)^-1/2:
the same power law with time in units in which an access is worth half as much after one half-life h. The first access
is that a source came to be. So P = S^2 / (1 + S^2) for the sum S: 1/2 on its first day, .1 after 19 days without use
at a half-life of 7. It orders lists of review and breaks ties. As a factor of a ranking such curves destroy recall.
"""

import datetime as dt
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from memory_server.errors import UsageError
from memory_server.layers.mif import Frontmatter, add_duration
from memory_server.layers.sessions import find_subject
from memory_server.lifecycle.fading import read_marks
from memory_server.lifecycle.use import NEVER, Access, Use, UseLog
from memory_server.root.paths import MemoryRoot
from memory_server.settings import PersonSettings

HALF_LIVES = {"semantic": 30.0, "procedural": 14.0, "episodic": 7.0}  # days, by MIF type
CITED = 0.5  # what a footnote rests on is never weaker than on its first day
FULL = 1.0
SHARE = re.compile(r"0|1|0?\.\d+|[01]\.0*")


@dataclass(frozen=True, slots=True)
class Strength:
    """A strength with its reasons."""

    value: float
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Decay:
    """What a source says of itself in `temporal.decay` of its frontmatter."""

    half_life: float | None = None  # days, in the place of its type's
    strength: float = 1.0  # share of what its use makes of it

    @staticmethod
    def of(front: Frontmatter) -> "Decay":
        """What of it can be read; `validate` names the rest."""
        values = {
            key: front.text(f"temporal.decay.{key}") for key in ("model", "halfLife", "strength", "currentStrength")
        }
        day = dt.date(2001, 1, 1)  # a year of 365 days
        end = add_duration(day, values["halfLife"])
        half_life = math.inf if values["model"] == "none" else float((end - day).days) if end and end > day else None
        share = values["strength"] or values["currentStrength"]
        return Decay(half_life, float(share) if SHARE.fullmatch(share) else 1.0)


NO_DECAY = Decay()


def strength(
    began: dt.date,
    accesses: Sequence[Access],
    today: dt.date,
    half_life: float,
    *,
    citations: int = 0,
    is_kept: bool = False,
    decay: Decay = NO_DECAY,
) -> Strength:
    """How alive a source is that came to be on a day. `half_life` in days; `citations`: statements that rest on it;
    `decay` goes before the half-life.
    """
    half_life = half_life if decay.half_life is None else decay.half_life
    worth = sum(one.times * _worth(one.day, today, half_life) for one in (Access(began), *accesses))
    value = decay.strength * worth**2 / (1 + worth**2)
    times = sum(one.times for one in accesses)
    last = max((one.day for one in accesses), default=None)
    reasons = [f"known for {max(0, (today - began).days)} days"]
    reasons.append(f"used {times} times, last {last.isoformat()}" if last else "never used")
    if decay != NO_DECAY:
        reasons.append(f"a half-life of {half_life:g} days and a strength of {decay.strength:g} by its frontmatter")
    if citations:
        value, reasons = max(value, CITED), [*reasons, f"cited {citations} times"]
    if is_kept:
        value, reasons = FULL, [*reasons, "kept by you"]
    return Strength(value, tuple(reasons))


def _worth(day: dt.date, today: dt.date, half_life: float) -> float:
    age = max(0, (today - day).days)  # a clock that was set back makes nothing older
    return float((1 + 3 * age / half_life) ** -0.5)


def parse_half_lives(settings: Sequence[str]) -> Mapping[str, float]:
    """Half-lives in days by MIF type, from settings such as `episodic=14`. Raises UsageError for what is none."""
    found = dict(HALF_LIVES)
    for name, _, days in (one.partition("=") for one in settings):
        try:
            found[name.strip()] = float(days)
        except ValueError:
            found[name.strip()] = 0.0
        if name.strip() not in HALF_LIVES or not 0 < found[name.strip()] < 1e6:
            raise UsageError(f"half_lives holds {name}={days}", remedy=f"Give days for one of: {', '.join(HALF_LIVES)}")
    return found


@dataclass(frozen=True, slots=True)
class Aliveness:
    """What is known of all sources at one moment."""

    today: dt.date
    since: dt.date  # use is known from this day on
    has_log: bool = True
    uses: Mapping[str, Use] = field(default_factory=dict)  # by subject, as all below
    to_keep: frozenset[str] = frozenset()
    half_lives: Mapping[str, float] = field(default_factory=lambda: HALF_LIVES)

    @staticmethod
    def of(
        root: MemoryRoot, log: UseLog, person: PersonSettings, today: dt.date, paths: Collection[str] = ()
    ) -> "Aliveness":
        """Of some sources, or of all. Where no log is kept nothing is known to be unused: all is as on day one."""
        since = log.since if person.query_log else None
        to_keep = frozenset(read_marks(root.marks).to_keep)
        uses, half_lives = log.uses({*map(find_subject, paths)}), parse_half_lives(person.half_lives)
        return Aliveness(today, since or today, since is not None, uses, to_keep, half_lives)

    def strength(
        self, path: str, day: dt.date | None, kind: str, citations: int = 0, decay: Decay = NO_DECAY
    ) -> Strength:
        """How alive a source is that is of this day and MIF type, and says that of its decay."""
        subject = find_subject(path)
        return strength(
            self.began(path, day),
            self.use(path).accesses,
            self.today,
            self.half_lives.get(kind, HALF_LIVES["episodic"]),
            citations=citations,
            is_kept=subject in self.to_keep,
            decay=decay,
        )

    def began(self, path: str, day: dt.date | None) -> dt.date:
        """The day from which a source counts: of a session or episode its own, of all else what is known of use."""
        is_of_its_day = self.has_log and path.startswith(("sessions/", "episodes/"))
        return max(day or self.today, dt.date.min if is_of_its_day else self.since)

    def use(self, path: str) -> Use:
        return self.uses.get(find_subject(path), NEVER)
