"""What is approved, for training or for other programs: `export`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from memory_server.errors import UsageError
from memory_server.redaction import Redactor
from oneiros.cli.terminal.output import OfProject, talk
from oneiros.dreaming import open_decisions
from oneiros.environment import Environment
from parts.taking_over.bundles import write_bundle
from parts.taking_over.export import export_approved


def add_commands(app: typer.Typer) -> None:
    """Adds the command."""
    app.command(epilog="\b\nExample: oneiros export --approved statements.jsonl")(export)


def export(
    context: typer.Context,
    approved: Annotated[
        Path | None, typer.Option(help="the file to write for training: one approved statement a line")
    ] = None,
    mif: Annotated[Path | None, typer.Option("--mif", help="the folder to write for others: MIF 1.0")] = None,
    project: OfProject = "",
) -> None:
    """Write what is approved, for training or for other programs.

    A trainer reads the one file and nothing else of the memory. MIF is Markdown with JSON-LD beside it.
    """
    environment: Environment = context.obj
    decisions = open_decisions(environment)
    redactor = Redactor(environment.person.deny_words)
    try:
        if mif is not None and approved is None:
            sent = write_bundle(decisions, environment.working_folder / mif, redactor, project)
            _tell_written(sent.left_out, sent.files, "topics")
        elif approved is not None and mif is None:
            done = export_approved(decisions, environment.working_folder / approved, redactor, project)
            _tell_written(done.left_out, done.lines, "statements")
        else:
            raise UsageError("say what to write", remedy="Either `--approved FILE` or `--mif FOLDER`")
    except (FileNotFoundError, NotADirectoryError, FileExistsError, IsADirectoryError) as error:
        raise UsageError(
            f"{mif or approved} cannot be written ({error.strerror})", remedy="Name another place"
        ) from error


def _tell_written(left_out: Sequence[str], count: int, what: str) -> None:
    for path in left_out:
        talk(f"{path} is left out: nobody has answered for its present state.")
    talk(f"{count} {what} written.")
    if not count:
        raise typer.Exit(1)
