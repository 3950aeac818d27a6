"""What the archive shows of a person's habits, and of the scripts and skills that they wished for."""

from collections.abc import Sequence
from dataclasses import dataclass

from crawler.archive.store import Archive
from dream.evidence import Evidence
from dream.extract.habits import habits_of, ideas_in, same_ideas
from dream.records import Habit, Quote
from dream.statements.deeds import deeds_in
from memory_server.errors import ContentError


@dataclass(frozen=True, slots=True)
class Habits:
    """Both, what came up most first."""

    habits: Sequence[Habit]
    ideas: Sequence[Sequence[Quote]]  # those that say the same together, in the order in which they were said


def habits_in(archive: Archive) -> Habits:
    """Reads every session of an archive; one that cannot be read is passed over."""
    evidence, deeds, ideas = Evidence(archive), [], list[Quote]()
    for session_id in archive.session_ids():
        try:
            session = evidence.session(session_id)
        except ContentError:
            continue
        deeds += list(deeds_in(session))
        ideas += ideas_in(session)
    return Habits(habits_of(deeds), sorted(same_ideas(ideas), key=lambda group: -len({one.session_id for one in group})))
