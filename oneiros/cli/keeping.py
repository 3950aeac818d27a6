"""Keeping a memory in order: `validate`, `reindex`, `status`, `doctor`."""

import dataclasses
from typing import Annotated

import typer

from memory_server.document import Layer
from memory_server.memory import Status
from oneiros import doctor as checks
from oneiros.cli.output import data, data_json, progress_shown, styled, talk
from oneiros.cli.searching import AsJson, NoColor
from oneiros.environment import Environment, now
from oneiros.intake import waiting


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
        with environment.open_memory() as memory:
            if dry_run:
                changes = memory.changes()
                planned = {"changed": [source.path for source in changes.changed], "removed": list(changes.removed)}
                if as_json:
                    data_json({**planned, "unchanged": changes.unchanged})
                else:
                    for name, paths in planned.items():
                        for path in paths:
                            data(f"{name}  {path}")
                    talk(
                        f"{len(changes.changed)} to read, {len(changes.removed)} to remove, {changes.unchanged} level."
                    )
                return
            with progress_shown() as show:
                report = memory.reindex(rebuild=rebuild, report_progress=show)
        if as_json:
            data_json(dataclasses.asdict(report))
            return
        for problem in report.problems:
            talk(str(problem))
        talk(
            f"{report.changed} files read, {report.removed} removed, {report.unchanged} level;"
            f" {report.chunks} passages, {report.embedded} embedded, in {report.seconds:.1f} s."
        )

    @app.command(epilog="\b\nExample: oneiros status --json")
    def status(as_json: AsJson = False) -> None:
        """What the memory holds, which one it is, and how its indices stand."""
        with environment.open_memory() as memory:
            found = memory.status()
        left = waiting(environment, environment.choice.root, now())
        choice = environment.choice
        if as_json:
            ignored = str(choice.ignored) if choice.ignored else None
            counts_left = {"not_archived": left.not_archived, "expiring": left.expiring}
            data_json({**status_json(found), **counts_left, "chosen": choice.reason, "ignored": ignored})
            return
        data(f"memory    {found.root}  ({choice.reason})")
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
        data(f"queries   {found.queries_logged} in the local log")
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


def status_json(status: Status) -> dict[str, object]:
    """The status for programs."""
    return {
        "root": str(status.root),
        "model": status.model,
        "model_reason": status.model_reason,
        "sources": {layer.value: status.sources.get(layer, 0) for layer in Layer},
        "passages": status.passages,
        "semantic": status.semantic,
        "changed": status.changed,
        "removed": status.removed,
        "problems": [dataclasses.asdict(problem) for problem in status.problems],
        "index_bytes": status.index_bytes,
        "owner": status.owner,
        "queries_logged": status.queries_logged,
    }
