"""Who reads sessions: `readings`, and the question that `init` asks once."""

import dataclasses
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Annotated

import typer

from crawler.reading.model import Cost
from memory_server.errors import UsageError
from memory_server.escaping import escape_text, plural
from memory_server.index.build import Progress
from memory_server.root.paths import MemoryRoot
from memory_server.root.places import require_memory
from memory_server.settings_file import change_setting, is_set
from oneiros.cli.consent import require_person
from oneiros.cli.maintenance import brought_level
from oneiros.cli.terminal.output import AsJson, confirm, data, data_json, show_progress, talk
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
    find_project,
    list_outdated,
    model_costs,
    open_readings,
    reading_states,
    waiting_projects,
)
from oneiros.ingest.settings import open_archive, waiting
from oneiros.ingest.typed_lines import build_recorder
from oneiros.opening import open_memory

CALL_SECONDS = 25.0  # of one call, as measured with a model of its user's client
SHOWN_PROJECTS = 6


def add_commands(app: typer.Typer) -> None:
    """Adds the command of this group."""
    app.command(epilog="\b\nExample: oneiros readings --read")(readings)


def readings(
    context: typer.Context,
    read: Annotated[bool, typer.Option("--read", help="have the model read what waits, now")] = False,
    sessions: Annotated[int | None, typer.Option(help="at most so many", min=1, show_default=False)] = None,
    project: Annotated[str, typer.Option(help="the sessions of this project first")] = "",
    again: Annotated[bool, typer.Option("--again", help="also what an older prompt read; asks first")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="do not ask")] = False,
    as_json: AsJson = False,
) -> None:
    """Show who reads your sessions and what waits; have it read."""
    environment: Environment = context.obj
    root = require_memory(environment.choice.root)
    if again:
        _forget_outdated(environment, root, yes=yes)
    if read or again:
        report = read_waiting(environment, root, sessions, project)
        if not as_json:
            _tell_run(report)
    found = reading_states(environment, root, now())
    if as_json:
        data_json({**found, "costs": dataclasses.asdict(model_costs(environment, root))})
        return
    if not read and not again:
        for line in _state_lines(environment, root):
            data(line)


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
    if is_set(environment.person_file, "reader") or not (sys.stdin.isatty() and sys.stderr.isatty()):
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
        f"What waits: {_cost_text(cost)}.",
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


def _cost_text(cost: Cost) -> str:
    minutes = duration_text(cost.calls * CALL_SECONDS)
    return f"{plural(cost.sessions, 'session')}, some {cost.tokens:,} tokens in {plural(cost.calls, 'call')}, {minutes}"


def _state_lines(environment: Environment, root: MemoryRoot) -> list[str]:
    found = reading_states(environment, root, now())
    by = Counter(one.reader for one in open_readings(root).every())
    lines = [
        f"reader    {found['reader']}",
        f"read by   {', '.join(f'{who} {count}' for who, count in by.items()) or 'nobody'}",
    ]
    cost = model_costs(environment, root)
    lines.append(f"waits     {_cost_text(cost)}" if cost.sessions else "waits     nothing")
    if found["reader"] != "rules":
        lines.append(f"today     {found['tokens_today']:,} tokens; {limits_text(environment)}")
    if found["stopped"]:
        lines.append(f"stopped   until tomorrow: {found['stopped']}")
    if old := list_outdated(root):
        lines.append(f"older     {len(old)} by an older prompt: oneiros readings --again")
    return lines


def _forget_outdated(environment: Environment, root: MemoryRoot, *, yes: bool) -> None:
    """Lets sessions be read again that an older prompt read, with what that takes."""
    old = list_outdated(root)
    projects = Counter(find_project(open_archive(root).record(name)) for name in old)
    most = projects.most_common(SHOWN_PROJECTS)
    listed = ", ".join(f"{escape_text(project)} ({count})" for project, count in most)
    if old:
        confirm(f"Read {plural(len(old), 'session')} again, of {listed}: {limits_text(environment)}", yes=yes)
        open_readings(root).forget(old)


def _tell_run(report: ReadReport) -> None:
    talk(f"{plural(report.read, 'session')} read, {report.left} left; {report.tokens:,} tokens.")
    if report.stopped:
        talk(f"It stopped: {report.stopped}.")
