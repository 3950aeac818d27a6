"""The commands as one application: help by groups, a command loaded when it is meant, errors as exit codes.

0 done or found; 1 nothing found, or a finding; 2 usage; 3 the environment needs repair, or a bug; 130 interrupted.
"""

import io
import logging
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer._completion_classes import completion_init
from typer.core import TyperCommand, TyperGroup

from memory_server.errors import OneirosError
from memory_server.machine.files import find_refusal, replace_file
from memory_server.machine.process import keep_private
from oneiros.cli.early import COMPLETE, EXIT_INTERRUPTED, print_version
from oneiros.cli.table import Row, find_adder, group_commands
from oneiros.cli.terminal.output import talk
from oneiros.light.client_folders import read_seen_folders
from oneiros.parts import Part, PartCommand, load_installed_parts, load_shipped_parts

if TYPE_CHECKING:
    from oneiros.environment import Environment

EXIT_BUG = 3

# What typer raises for a wrong option or argument: click's class, which newer ones bring as a class of their own.
CommandLineError: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


class NamedCommand(TyperCommand):
    """A command by its name and sentence, until it is meant."""

    def __init__(self, row: Row | PartCommand):
        super().__init__(row.name, help=row.sentence)
        self.row = row


class Commands(TyperGroup):
    """The table as a group. The parts of other packages are asked for where nothing else has the name, and for help."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return super().get_command(ctx, cmd_name) or _build_commands(load_installed_parts()).get(cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  as typer calls it
        return [*_build_commands(load_installed_parts())]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is meant, by its name and the arguments behind it."""
        name, known, rest = super().resolve_command(ctx, args)
        if not isinstance(known, NamedCommand):
            return None, None, rest
        ctx.obj = ctx.obj or _this_environment()
        read_seen_folders(ctx.obj.variables)
        return name, load_command(known.row), rest

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002  as typer calls it
        """Writes the commands into the help, a section a group."""
        groups = group_commands(load_installed_parts())
        width = max(len(row.name) for rows in groups.values() for row in rows)
        for heading, rows in groups.items():
            with formatter.section(heading):
                formatter.write_dl([(row.name.ljust(width), row.sentence) for row in rows])


def create_app() -> TyperGroup:
    """All commands, none of them loaded. What they work on is `obj` of their context, an Environment."""
    app = _typer(help="A memory for Claude Code that knows things instead of only finding them.", cls=Commands)
    app.callback(invoke_without_command=True, epilog="\b\nExample: oneiros init --example")(before_command)
    group = typer.main.get_group(app)
    group.commands.update(_build_commands(load_shipped_parts()))
    return group


def _build_commands(parts: Iterable[Part]) -> dict[str, NamedCommand]:
    return {row.name: NamedCommand(row) for rows in group_commands(parts).values() for row in rows}


def load_command(row: Row | PartCommand) -> Any:
    """One command, with what it imports, and what the shipped parts bring below it."""
    command: Any = _load_commands(row.add if isinstance(row, PartCommand) else find_adder(row.room))[row.name]
    for part in load_shipped_parts():
        for above, add in part.subcommands:
            if above == row.name:
                command.commands.update(_load_commands(add))
    return command


def _load_commands(add: Callable[[typer.Typer], None]) -> dict[str, Any]:
    app = _typer()
    add(app)
    return {**typer.main.get_group(app).commands}


def _typer(**settings: Any) -> typer.Typer:
    return typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
        **settings,
    )


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        raise typer.Exit(print_version())


def before_command(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001  its callback has ended the command
        bool, typer.Option("--version", help="print the version and end", is_eager=True, callback=_show_version)
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="say on stderr what is done")] = False,
) -> None:
    """Runs before every command; where there is none, shows what is there to do now."""
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, format="%(message)s", stream=sys.stderr)
    if context.invoked_subcommand is None:
        from oneiros.cli.status import show_next_steps  # what a command that is named does not need

        show_next_steps(context.obj or _this_environment())


def run_app(arguments: Sequence[str], environment: "Environment | None" = None) -> int:
    """Runs one command line and gives its exit code. The only place where unforeseen errors are caught."""
    keep_private()
    if isinstance(sys.stdout, io.TextIOWrapper):  # an ASCII terminal or pipe shows \u00fc and is no reason to fail
        sys.stdout.reconfigure(errors="backslashreplace")
    if COMPLETE in os.environ:  # typer answers, and ends the process
        completion_init()
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:2], "--help"]
    try:
        code = int(create_app().main(arguments, "oneiros", standalone_mode=False, obj=environment) or 0)
        sys.stdout.flush()  # here, where a closed pipe is still caught
        return _report_interruption() if code == EXIT_INTERRUPTED else code
    except typer.Exit as error:
        return error.exit_code
    except CommandLineError as error:
        error.show()
        return int(error.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        return _report_interruption()
    except SystemExit as error:  # typer's own answer to a closed pipe is 1
        if not isinstance(error.__context__, BrokenPipeError):
            raise
        return _without_reader()
    except BrokenPipeError:
        return _without_reader()
    except OneirosError as error:
        talk(str(error))
        return error.exit_code
    except Exception as error:  # noqa: BLE001  the outermost loop: a bug must not pass for "nothing found"
        talk(_explain_error(error, environment))
        return EXIT_BUG


def _this_environment() -> "Environment":
    """What commands work on where nothing else is given."""
    from oneiros.environment import Environment

    return Environment.of_process()


def _report_interruption() -> int:
    talk("Interrupted. What was done is kept; the same command goes on from there.")
    return EXIT_INTERRUPTED


def _without_reader() -> int:
    """Lets what is still buffered go nowhere, since nobody reads it."""
    if sys.__stdout__ is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())
    return 0


def _explain_error(error: Exception, environment: "Environment | None") -> str:
    """What a person is told of an error that no command foresaw."""
    try:
        root = (environment or _this_environment()).choice.root
    except (OneirosError, OSError):
        root = None
    return str(find_refusal(error, root.path if root else None) or _bug_sentence(root.error_log if root else None))


def _bug_sentence(log: Path | None) -> str:
    """Where the traceback of the current error was written; the traceback itself where it could not be."""
    report = traceback.format_exc()
    with suppress(OneirosError, OSError):
        if log and log.parent.is_dir():
            replace_file(log, report)
            return f"oneiros failed unexpectedly. The traceback is in {log}; please report it."
    return f"oneiros failed unexpectedly. Please report this:\n{report}"
