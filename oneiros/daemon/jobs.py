"""What the daemon does by the clock: ingest, visits to other machines, dream, references, its flag, the weekly review.

Each job reads the settings anew, so that a change counts at once. The rules of when are in `schedule.py`.
"""

import datetime as dt
from collections.abc import Callable
from dataclasses import replace

from dream.progress import DreamProgress
from dream.records import State
from memory_server.escaping import plural
from memory_server.memory import Memory
from memory_server.settings import PersonSettings
from oneiros.daemon.schedule import At, Every, Job
from oneiros.dreaming import build_decisions, dream_once, make_deadline, tell_left, weekly_review
from oneiros.environment import Environment, now
from oneiros.ingest.run import Wanted, ingest_all, other_machines, outcome_sentence, scan_references
from oneiros.ingest.settings import open_archive

FLAG_MINUTES = 60.0
MACHINE_MINUTES = 60.0  # a laptop sleeps at night
DREAM_SECONDS = 600.0  # of one night; what is left is read in the next
REPORT_TIME = dt.time(5, 0)  # on Mondays, after the night's ingest


def daemon_jobs(
    environment: Environment, memory: Memory, on_ingested: Callable[[str, bool], object]
) -> tuple[Job, ...]:
    """The jobs of one memory; an empty time and 0 minutes switch one off. `on_ingested` is told what is new."""
    root, look = memory.root, ReferenceLooks()

    def ingest(check: Callable[[], None]) -> str:
        return outcome_sentence(ingest_all(environment, root, on_ingested, check))

    def visits() -> Every | None:
        return Every(MACHINE_MINUTES) if memory.person.machines and other_machines(environment) else None

    def machines(check: Callable[[], None]) -> str:
        return outcome_sentence(ingest_all(environment, root, on_ingested, check, Wanted(places="elsewhere")))

    def dream(check: Callable[[], None]) -> str:
        check()
        settled = replace(environment)
        decisions = build_decisions(root, settled.person)
        report = dream_once(settled, decisions, is_over=make_deadline(DREAM_SECONDS), on_session=lambda *_: check())
        if report.questions.statements:
            on_ingested("", False)
        waiting = sum(hunk.state is State.PENDING for hunk in decisions.store.hunks())
        done = f"{plural(report.sessions, 'session')} read, {plural(report.offer.offered, 'change')} proposed"
        return "; ".join([f"{done}, {waiting} wait for review", *tell_left(report.filed, report.questions)])

    def references(check: Callable[[], None]) -> str:
        check()
        report = scan_references(replace(environment), root, look.due(memory.person, now()))
        if report.written or report.moved or report.removed:
            on_ingested("", False)
        read = f"{plural(report.written, 'file')} read"
        done = f"{read}, {report.moved} moved, {report.removed} gone, {report.unchanged} unchanged"
        return "; ".join((done, *report.barren))

    def flag(check: Callable[[], None]) -> str:
        check()
        has_waiting = DreamProgress(root).refresh_flag(open_archive(root), now())
        return "sessions wait to be read" if has_waiting else "nothing waits to be read"

    def report(check: Callable[[], None]) -> str:
        check()
        review, file = weekly_review(memory)
        return f"{len(review.findings)} findings in reports/{file.name}"

    return (
        Job("ingest", lambda: _daily(memory.person.daily_at), ingest),
        Job("dream", lambda: _daily(memory.person.dream_at), dream),  # behind ingest, also where both were missed
        Job("machines", visits, machines),
        Job("references", lambda: look.when(memory.person), references),
        Job("dream flag", lambda: Every(FLAG_MINUTES), flag),
        Job("weekly report", lambda: At(REPORT_TIME, weekday=0), report),
    )


class ReferenceLooks:
    """When each source of references is looked at: after minutes of its own, or those of `reference_minutes`."""

    def __init__(self) -> None:
        self._last: dict[str, dt.datetime] = {}

    def when(self, person: PersonSettings) -> Every | None:
        """The rule of the source that is looked at most often; None where none is."""
        often = [minutes for minutes in _collect_minutes(person).values() if minutes]
        return Every(min(often)) if often else None

    def due(self, person: PersonSettings, moment: dt.datetime) -> list[str]:
        """The sources whose time has come; they are looked at now."""
        found = []
        for name, minutes in _collect_minutes(person).items():
            last = self._last.get(name)
            if minutes and (last is None or moment - last >= dt.timedelta(minutes=minutes)):
                found.append(name)
                self._last[name] = moment
        return found


def _collect_minutes(person: PersonSettings) -> dict[str, float]:
    """The minutes between two looks at each source; those of the folders without a name under an empty one."""
    own = {one.name: person.reference_minutes if one.minutes is None else one.minutes for one in person.references}
    return {"": person.reference_minutes, **own}


def _daily(time: str) -> At | None:
    """Every day at that time; None where the setting is empty."""
    return At(dt.time.fromisoformat(time)) if time else None
