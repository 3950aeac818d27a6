"""What the daemon does by the clock: the daily intake, and the look at other people's files.

Each job reads the settings anew, so that a change counts at once. The rules of when are in `schedule.py`.
"""

import datetime as dt
from collections.abc import Callable
from dataclasses import replace

from memory_server.root.paths import MemoryRoot
from memory_server.settings import PersonSettings
from oneiros.environment import Environment, now
from oneiros.ingest.chosen import Wanted, is_news, news_of, outcome_sentence, run_intake, scan_references
from oneiros.schedule import At, Every, Job, When


def daemon_jobs(
    environment: Environment,
    root: MemoryRoot,
    person: Callable[[], PersonSettings],
    on_taken: Callable[[str, bool], object],
) -> tuple[Job, ...]:
    """The jobs of one memory. `person` gives the settings as they are; `on_taken` is told what is new."""

    def ingest(check: Callable[[], None]) -> str:
        outcome = run_intake(replace(environment), root, Wanted(), now(), check=check)
        if is_news(outcome):
            for told in news_of(outcome, now()):
                on_taken(*told)
        return outcome_sentence(outcome)

    def references(check: Callable[[], None]) -> str:
        check()
        report = scan_references(replace(environment), root)
        if report.written or report.moved or report.removed:
            on_taken("", False)
        return f"{report.written} files read, {report.moved} moved, {report.removed} gone, {report.unchanged} unchanged"

    return (
        Job("ingest", lambda: daily(person().daily_at), ingest),
        Job("references", lambda: every(person().reference_minutes), references),
    )


def daily(text: str) -> When | None:
    """The rule of a setting `04:00`; None for an empty one, which switches the job off."""
    return At(dt.time.fromisoformat(text)) if text else None


def every(minutes: float) -> When | None:
    """The rule of a setting in minutes; None for 0, which switches the job off."""
    return Every(minutes) if minutes else None
