"""What holds a memory in order: `reindex`, `validate`, `doctor`."""

import dataclasses
import time
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import typer

from memory_server.errors import NeedsRepair, Problem
from memory_server.escaping import plural
from memory_server.index.build import Progress, Report
from oneiros import doctor as checks
from oneiros.cli.terminal.output import AsJson, NoColor, data, data_json, see_stdout, show, show_progress, talk
from oneiros.client import Client, DaemonLost
from oneiros.doctor import Health
from oneiros.environment import Environment
from oneiros.opening import open_memory

STEP_SECONDS = 1.0  # how often the progress of the daemon is shown


def add_commands(app: typer.Typer) -> None:
    """Adds the commands of this group."""
    app.command(epilog="\b\nExample: oneiros validate --json")(validate)
    app.command(epilog="\b\nExample: oneiros reindex --dry-run")(reindex)
    app.command(epilog="\b\nExample: oneiros doctor --health")(doctor)


def validate(
    context: typer.Context,
    as_json: AsJson = False,
    form: Annotated[Literal["text", "json"], typer.Option("--format", help="json: the same as --json")] = "text",
) -> None:
    """Check the memory's files against the schema and the limits."""
    environment: Environment = context.obj
    with open_memory(environment) as memory:
        problems = memory.validate()
    if as_json or form == "json":
        data_json({"problems": [dataclasses.asdict(problem) for problem in problems]})
    else:
        for problem in problems:
            data(str(problem))
        talk(f"{plural(len(problems), 'problem')}." if problems else "Every file is as it should be.")
    if problems:
        raise typer.Exit(1)


def reindex(
    context: typer.Context,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="start anew; vectors are kept")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="say what would be done")] = False,
    as_json: AsJson = False,
) -> None:
    """Bring the indices level with the disk."""
    environment: Environment = context.obj
    if not dry_run:
        report = brought_level(environment, rebuild=rebuild)
        if as_json:
            data_json(report)
            return
        for problem in report["problems"]:
            talk(str(Problem(**problem)))
        talk(
            f"{plural(report['changed'], 'file')} read, {report['removed']} removed, {report['unchanged']} level;"
            f" {plural(report['chunks'], 'passage')}, {report['embedded']} embedded, in {report['seconds']:.1f} s."
        )
        return
    with open_memory(environment) as memory:
        changes = memory.upkeep.changes()
    planned = {"changed": [source.path for source in changes.changed], "removed": list(changes.removed)}
    if as_json:
        data_json({**planned, "unchanged": changes.unchanged})
        return
    for name, paths in planned.items():
        for path in paths:
            data(f"{name}  {path}")
    talk(f"{len(changes.changed)} to read, {len(changes.removed)} to remove, {changes.unchanged} level.")


def brought_level(environment: Environment, *, rebuild: bool = False) -> dict[str, Any]:
    """Brings the indices level, by the daemon where one runs, and shows how far it is; the report of the run."""
    client = Client.of(environment)
    with show_progress() as show:
        try:
            state = client.ask("POST", "/api/reindex", {"rebuild": rebuild, "wait_seconds": STEP_SECONDS})
            while not state.get("done") and (state["stage"] != "idle" or "done" in state) and not state["error"]:
                if state["total"]:
                    show(Progress(state["stage"], state["progress"], state["total"]))
                time.sleep(STEP_SECONDS)
                state = client.ask("GET", "/api/indexing")
        except DaemonLost:
            with open_memory(environment) as memory:
                return dataclasses.asdict(memory.reindex(rebuild=rebuild, report_progress=show))
    if state["error"]:
        raise NeedsRepair(str(state["error"]), remedy="Run `oneiros doctor`")
    report: dict[str, Any] = state["last_report"] or dataclasses.asdict(Report())
    return report


def doctor(
    context: typer.Context,
    health: Annotated[bool, typer.Option("--health", help="a score: with validate, report and gc's dry run")] = False,
    as_json: AsJson = False,
    no_color: NoColor = False,
) -> None:
    """Prove by doing that everything works, or name the repair."""
    environment: Environment = context.obj
    if health:
        found = checks.measure_health(environment)
        if as_json:
            data_json({"score": found.score, **dataclasses.asdict(found)})
        else:
            data("\n".join(health_lines(found)))
        return
    findings = list(checks.examine(environment))
    if as_json:
        data_json({"checks": [{"check": name, **dataclasses.asdict(finding)} for name, finding in findings]})
    else:
        screen = see_stdout(no_color=no_color)
        for name, finding in findings:
            colour = {"ok": "green", "warning": "yellow", "failed": "red"}[finding.state]
            show(screen.style(f"{finding.state:<8} {name}: {finding.detail}", fg=colour))
            if finding.repair:
                show(f"         {finding.repair}")
    if any(finding.state == "failed" for _, finding in findings):
        raise typer.Exit(3)


def health_lines(health: Health) -> Iterator[str]:
    """The score, then what was taken off it, each with its reason and what to do."""
    yield f"health  {health.score} of 100"
    for one in health.deductions:
        yield f"{-one.points:>6}  {one.what}"
        if one.step:
            yield f"        {one.step}"
    if not health.deductions:
        yield "        nothing was found to take off"
    yield f"    gc  {health.fading} of {health.sources} sessions and episodes would fade: oneiros gc --dry-run"
