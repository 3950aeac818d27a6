"""Keeping a memory in order: `validate`, `reindex`, `status`, `doctor`."""

import dataclasses
import time
from typing import Annotated, Any

import typer

from memory_server.errors import NeedsRepair, Problem
from memory_server.index.build import Progress, Report
from memory_server.memory_text import status_json
from oneiros import doctor as checks
from oneiros.cli.output import data, data_json, progress_shown, styled, talk
from oneiros.cli.searching import AsJson, NoColor
from oneiros.cli.serving import daemon_json
from oneiros.client import Client, DaemonLost
from oneiros.environment import Environment, now
from oneiros.hooks.receipts import read_receipts, receipts_file
from oneiros.intake import waiting
from oneiros.schedule import JobState, read_moment, read_states, schedule_file

STEP_SECONDS = 1.0  # how often the progress of the daemon is shown


def add_commands(app: typer.Typer, environment: Environment) -> None:
    """Adds the commands of this group."""

    @app.command(epilog="\b\nExample: oneiros validate --json")
    def validate(as_json: AsJson = False) -> None:
        """Check the files of the memory against the schema and the limits."""
        with environment.open_memory() as memory:
            problems = memory.validate()
        if as_json:
            data_json({"problems": [dataclasses.asdict(problem) for problem in problems]})
        else:
            for problem in problems:
                data(str(problem))
            talk(f"{len(problems)} problems." if problems else "Every file is as it should be.")
        if problems:
            raise typer.Exit(1)

    @app.command(epilog="\b\nExample: oneiros reindex --dry-run")
    def reindex(
        rebuild: Annotated[bool, typer.Option("--rebuild", help="start anew; vectors are kept")] = False,
        dry_run: Annotated[bool, typer.Option("--dry-run", help="say what would be done")] = False,
        as_json: AsJson = False,
    ) -> None:
        """Bring the indices level with the disk."""
        if not dry_run:
            _show_report(brought_level(environment, rebuild=rebuild), as_json=as_json)
            return
        with environment.open_memory() as memory:
            changes = memory.changes()
        planned = {"changed": [source.path for source in changes.changed], "removed": list(changes.removed)}
        if as_json:
            data_json({**planned, "unchanged": changes.unchanged})
            return
        for name, paths in planned.items():
            for path in paths:
                data(f"{name}  {path}")
        talk(f"{len(changes.changed)} to read, {len(changes.removed)} to remove, {changes.unchanged} level.")

    @app.command(epilog="\b\nExample: oneiros status --json")
    def status(as_json: AsJson = False) -> None:
        """What the memory holds, which one it is, and how its indices stand."""
        with environment.open_memory() as memory:
            found = memory.status()
        left = waiting(environment, environment.choice.root, now())
        choice = environment.choice
        process = daemon_json(choice.root)
        receipts = read_receipts(receipts_file(choice.root))
        keeping = _indexing(environment) if process["pid"] else None
        if as_json:
            ignored = str(choice.ignored) if choice.ignored else None
            counts_left = {"not_archived": left.not_archived, "expiring": left.expiring}
            chosen = {"chosen": choice.reason, "ignored": ignored, "places": environment.places(choice.root)}
            jobs = [dataclasses.asdict(job) for job in read_states(schedule_file(choice.root))]
            running = {
                "daemon": process,
                "indexing": keeping,
                "schedule": jobs,
                "hooks": list(map(dataclasses.asdict, receipts)),
            }
            data_json({**status_json(found), **counts_left, **chosen, **running})
            return
        data(f"memory    {found.root}  ({choice.reason})")
        data(f"state     {choice.root.state}")
        if choice.ignored:
            data(f"ignored   {choice.ignored}  (not trusted; `oneiros trust {choice.ignored}` lets it take effect)")
        counts = ", ".join(f"{number} {layer.value}" for layer, number in found.sources.items() if number)
        data(f"sources   {counts or 'none'}")
        missing = f"{left.not_archived} not archived yet, {left.expiring} of them expire this week: oneiros ingest"
        data(f"archive   {missing if left.not_archived else 'every session of this machine'}")
        size = f"{found.index_bytes / 1e6:.1f} MB on disk"
        data(f"passages  {found.passages} by words, {found.semantic} by meaning; {size}")
        data(f"model     {found.model}, {found.model_reason}")
        behind = found.changed + found.removed
        data(f"indices   {'level with the disk' if not behind else f'{behind} files behind: oneiros reindex'}")
        data(f"owner     {found.owner or 'no process'}")
        data(f"daemon    {_daemon_text(process, keeping)}")
        for job in read_states(schedule_file(choice.root)):
            data(f"schedule  {job_text(job)}")
        data(f"queries   {found.queries_logged} in the local log")
        for receipt in receipts[:1]:
            data(f"hooks     {receipt.tokens} tokens put into the last session, {receipt.injections} times")
        for problem in found.problems:
            data(f"problem   {problem}")

    @app.command(epilog="\b\nExample: oneiros doctor")
    def doctor(as_json: AsJson = False, no_color: NoColor = False) -> None:
        """Prove by doing that everything works, and name the repair where it does not."""
        findings = list(checks.examine(environment))
        if as_json:
            data_json({"checks": [dataclasses.asdict(finding) for finding in findings]})
        else:
            console = styled(no_color=no_color)
            for finding in findings:
                colour = {"ok": "green", "warning": "yellow", "failed": "red"}[finding.state]
                console.print(f"{finding.state:<8} {finding.check}: {finding.detail}", style=colour)
                if finding.repair:
                    console.print(f"         {finding.repair}")
        if any(finding.state == "failed" for finding in findings):
            raise typer.Exit(3)


def brought_level(environment: Environment, *, rebuild: bool = False) -> dict[str, Any]:
    """Brings the indices level, by the daemon where one runs; the report of the run."""
    if (found := _reindexed_by_daemon(environment, rebuild=rebuild)) is not None:
        return found
    with environment.open_memory() as memory, progress_shown() as show:
        return dataclasses.asdict(memory.reindex(rebuild=rebuild, report_progress=show))


def _reindexed_by_daemon(environment: Environment, *, rebuild: bool) -> dict[str, Any] | None:
    """The report of a run of the daemon; None where no daemon runs, so that this process does it."""
    client = Client(environment.variables, environment.choice.root.path)
    try:
        state = client.ask("POST", "/api/reindex", {"rebuild": rebuild, "wait_seconds": STEP_SECONDS})
        with progress_shown() as show:
            while not state.get("done") and (state["stage"] != "idle" or "done" in state) and not state["error"]:
                if state["total"]:
                    show(Progress(state["stage"], state["progress"], state["total"]))
                time.sleep(STEP_SECONDS)
                state = client.ask("GET", "/api/indexing")
    except DaemonLost:
        return None
    if state["error"]:
        raise NeedsRepair(str(state["error"]), remedy="Run `oneiros doctor`")
    report: dict[str, Any] = state["last_report"] or dataclasses.asdict(Report())
    return report


def _show_report(report: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        data_json(report)
        return
    for problem in report["problems"]:
        talk(str(Problem(**problem)))
    talk(
        f"{report['changed']} files read, {report['removed']} removed, {report['unchanged']} level;"
        f" {report['chunks']} passages, {report['embedded']} embedded, in {report['seconds']:.1f} s."
    )


def _indexing(environment: Environment) -> dict[str, Any] | None:
    """What the daemon says of its indexing; None where it does not answer."""
    try:
        return Client(environment.variables, environment.choice.root.path).ask("GET", "/api/indexing", seconds=5.0)
    except DaemonLost:
        return None


def job_text(job: JobState) -> str:
    """What a job of the daemon did last and when it is due, by the clock on the wall."""
    done, tried, due = (moment_text(text) for text in (job.done, job.tried, job.next))
    last = f"{done}: {job.said}" if done else "not yet"
    failed = f"; failed {tried}: {job.error}" if job.error else ""
    return f"{job.name}  {last}{failed}; {f'next {due}' if due else 'switched off'}"


def moment_text(text: str) -> str:
    """A moment for a person; empty for none."""
    moment = read_moment(text)
    return f"{moment.astimezone():%Y-%m-%d %H:%M}" if moment else ""


def _daemon_text(process: dict[str, object], keeping: dict[str, Any] | None) -> str:
    if process["pid"] is None:
        return "none; `oneiros serve` or a client starts it"
    text = f"process {process['pid']}, http://127.0.0.1:{process['port']}" if process["port"] else "starting"
    if keeping is None:
        return text
    state = (
        keeping["stage"] if not keeping["total"] else f"{keeping['stage']} {keeping['progress']} of {keeping['total']}"
    )
    change = f", changing to {keeping['next_model']}" if keeping["next_model"] else ""
    return f"{text}; {state}{change}; changes seen by {keeping['watching']}"
