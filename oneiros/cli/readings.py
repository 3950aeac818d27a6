"""Who reads sessions: the question that `init` asks once, and having a model read what waits."""

import time
from collections.abc import Callable

import typer

from crawler.reading.model import Cost
from memory_server.errors import UsageError
from memory_server.escaping import escape_text, plural
from memory_server.index.build import Progress
from memory_server.root.paths import MemoryRoot
from memory_server.settings_file import change_setting, is_set
from oneiros.cli.consent import require_person
from oneiros.cli.maintenance import brought_level
from oneiros.cli.terminal.output import is_conversation, show_progress, talk
from oneiros.environment import Environment, now
from oneiros.first_steps import duration_text
from oneiros.ingest.readings import (
    FoundModel,
    ReadingRun,
    ReadReport,
    build_asking,
    compress_again,
    estimate_costs,
    find_model,
    model_costs,
    waiting_projects,
)
from oneiros.ingest.settings import waiting
from oneiros.ingest.typed_lines import build_recorder
from oneiros.opening import open_memory

CALL_SECONDS = 25.0  # of one call, as measured with a model of its user's client
SHOWN_PROJECTS = 6


def read_waiting(
    environment: Environment,
    root: MemoryRoot,
    sessions: int | None = None,
    project: str = "",
    *,
    is_alone: bool = False,
    is_over: Callable[[], bool] = lambda: False,
) -> ReadReport:
    """Has the model of the settings read what waits, with progress, and brings all that is made of it level.

    Sessions of the project come first; `is_alone`: no others. `is_over`: nothing more is asked then.
    """
    asking = build_asking(environment, root, time.sleep, is_over)
    if asking is None:
        raise UsageError("rules read your sessions: no model is set", remedy="oneiros config reader claude-cli")
    with show_progress() as show:
        run = ReadingRun(root, asking, tell=lambda done: show(Progress("reading", done.read, done.read + done.left)))
        report = run.run(sessions, project, is_alone=is_alone)
    if report.read:
        compress_again(environment, root)
        with open_memory(environment) as memory:
            build_recorder(memory).bring_level()
        brought_level(environment)
    return report


def offer_reader(environment: Environment, root: MemoryRoot) -> bool:
    """Asks once, on a terminal, whether a model that lies ready may read; whether it asked. A no is noted too."""
    if is_set(environment.person_file, "reader") or not is_conversation():
        return False
    found = find_model(environment)
    if found is None:
        return False
    cost = model_costs(environment, root)
    if not cost.sessions:
        cost = estimate_costs(waiting(environment, root, now()).not_archived)  # nothing is archived on the first day
    if not cost.sessions:
        return False
    talk()
    for line in offer_lines(environment, root, found, cost):
        talk(line)
    if typer.confirm("Have it read them", default=False, err=True):
        limits = limits_text(environment)
        require_person(environment, f"have {found.called} read your sessions, {limits}", is_setting=True)
        for key, value in found.settings.items():
            change_setting(environment.person_file, key, value, follow=True)
        talk("It reads behind everything else. `oneiros config reader rules` takes it back.")
    else:
        change_setting(environment.person_file, "reader", "rules", follow=True)
        talk(f"Rules read them, and offer little. `oneiros config reader {found.settings['reader']}` changes it.")
    return True


def offer_lines(environment: Environment, root: MemoryRoot, found: FoundModel, cost: Cost) -> list[str]:
    """What a person must know before they let a model read: what is sent to whom, and what it takes."""
    projects = waiting_projects(environment, root)
    named = ", ".join(f"{escape_text(project)} ({count})" for project, count in projects.most_common(SHOWN_PROJECTS))
    named = named or "those of your transcripts"
    more = f" and {len(projects) - SHOWN_PROJECTS} more" if len(projects) > SHOWN_PROJECTS else ""
    return [
        f"Found {found.called}. It could read your sessions, which finds far more than rules do.",
        f"What waits: {cost_text(cost)}.",
        f"Projects: {named}{more}; `oneiros config reader_projects NAME,...` names fewer.",
        "Of the same projects it sees what you import and what your topics say: it files and words statements.",
        f"Sent to {found.receiver}; secrets are masked, and it has no tools, hooks or transcript.",
        f"It may take {limits_text(environment)}.",
    ]


def limits_text(environment: Environment) -> str:
    """What a reader may take, by the settings."""
    person = environment.person
    paid = person.reader_usd_in or person.reader_usd_out
    dollars = f"{person.budget_day_usd:.2f} dollars" if paid else "0 dollars beyond your subscription"
    tokens = (
        f"at most {person.reader_tokens_day:,} tokens a day" if person.reader_tokens_day else "any number of tokens"
    )
    return f"{tokens} and {dollars}"


def cost_text(cost: Cost) -> str:
    """What reading takes, for a person."""
    minutes = duration_text(cost.calls * CALL_SECONDS)
    return f"{plural(cost.sessions, 'session')}, some {cost.tokens:,} tokens in {plural(cost.calls, 'call')}, {minutes}"
