"""`oneiros readings`: who reads sessions, and what waits for them."""

import dataclasses
from collections import Counter
from typing import Annotated

import typer

from crawler.reading.model import VERSION
from memory_server.escaping import escape_text, plural
from memory_server.root.paths import MemoryRoot
from memory_server.root.places import require_memory
from oneiros.cli.readings import SHOWN_PROJECTS, cost_text, limits_text, read_waiting
from oneiros.cli.terminal.output import AsJson, confirm, data, data_json, talk
from oneiros.environment import Environment, now
from oneiros.ingest.readings import (
    ReadReport,
    find_project,
    model_costs,
    open_readings,
    reading_states,
)
from oneiros.ingest.settings import open_archive


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


def _state_lines(environment: Environment, root: MemoryRoot) -> list[str]:
    found = reading_states(environment, root, now())
    by = Counter(one.reader for one in open_readings(root).every())
    lines = [
        f"reader    {found['reader']}",
        f"read by   {', '.join(f'{who} {count}' for who, count in by.items()) or 'nobody'}",
    ]
    cost = model_costs(environment, root)
    lines.append(f"waits     {cost_text(cost)}" if cost.sessions else "waits     nothing")
    if found["tokens_today"] is None:
        return [*lines, f"stopped   {found['stopped']}"]
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


def list_outdated(root: MemoryRoot) -> list[str]:
    """The sessions that a model read under an older prompt."""
    return [one.session_id for one in open_readings(root).every() if one.is_by_model and one.version < VERSION]
