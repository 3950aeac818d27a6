"""The strength of the sources of one memory, from the log of use, the person's marks and what rests on them."""

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from memory_server.layers.sessions import find_subject
from memory_server.lifecycle.marks import read_marks
from memory_server.lifecycle.strength import HALF_LIVES, NO_DECAY, Decay, Strength, parse_half_lives, strength
from memory_server.lifecycle.use import NEVER, Use, UseLog
from memory_server.root.paths import MemoryRoot
from memory_server.settings import PersonSettings

EPSILON = 1e-6  # of a score from 0 to 1: below it two hits are equal, and the stronger one may stand first


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


def settle_ties(scores: Sequence[tuple[str, float]], strengths: Sequence[float]) -> list[int]:
    """The places of hits, best first, in which of neighbours that score the same the stronger stands first.

    `scores`: the layer of each hit, and its score.
    """
    order: list[int] = []
    start = 0
    for place in range(1, len(scores) + 1):
        if place == len(scores) or not is_tied(scores[place - 1], scores[place]):
            order += sorted(range(start, place), key=lambda one: -strengths[one])
            start = place
    return order


def is_tied(one: tuple[str, float], other: tuple[str, float]) -> bool:
    return one[0] == other[0] and abs(one[1] - other[1]) <= EPSILON
