"""The `oneiros` command: puts the command groups together and turns errors into exit codes.

0 done or found; 1 nothing found, or a finding; 2 usage; 3 the environment needs repair, or a bug; 130 interrupted.
"""

import logging
import os
import sys
import traceback
from typing import Annotated, Any

import typer

from memory_server.errors import OneirosError
from memory_server.files import replace_file
from memory_server.process import settle_process
from oneiros.cli import claude, dreaming, intake, keeping, searching, serving, settling, trainer
from oneiros.cli.output import talk
from oneiros.environment import Environment, program_version

EXIT_BUG = 3
EXIT_INTERRUPTED = 130

# What typer raises for a wrong option or argument: click's class, which newer ones bring as a class of their own.
CommandLineError: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


def create_app(environment: Environment) -> typer.Typer:
    """All commands over one environment."""
    app = typer.Typer(
        help="A memory for Claude Code that knows things instead of only finding them.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback()
    def settle(
        version: Annotated[bool, typer.Option("--version", help="print the version and end")] = False,
        verbose: Annotated[bool, typer.Option("--verbose", "-v", help="say on stderr what is done")] = False,
    ) -> None:
        logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, format="%(message)s", stream=sys.stderr)
        if version:
            typer.echo(f"oneiros {program_version()}")
            raise typer.Exit

    for group in (searching, settling, intake, dreaming, keeping, serving, claude):
        group.add_commands(app, environment)
    app.add_typer(
        trainer.app,
        name="trainer",
        help="Watch the trainers that serve a model of this memory.",
        epilog="\b\nExample: oneiros trainer status --once",
    )
    return app


def run() -> None:
    """The console script."""
    sys.exit(main(sys.argv[1:], Environment.of_process()))


def main(arguments: list[str], environment: Environment) -> int:
    """Runs one command line and gives its exit code. The only place where unforeseen errors are caught."""
    settle_process()
    command = typer.main.get_command(create_app(environment))
    try:
        code = int(command.main(arguments, prog_name="oneiros", standalone_mode=False) or 0)
        sys.stdout.flush()  # here, where a closed pipe is still caught
        return _interrupted() if code == EXIT_INTERRUPTED else code
    except typer.Exit as error:
        return error.exit_code
    except CommandLineError as error:
        error.show()
        return int(error.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        return _interrupted()
    except SystemExit as error:  # typer's own answer to a closed pipe is 1
        if not isinstance(error.__context__, BrokenPipeError):
            raise
        return _without_reader()
    except BrokenPipeError:
        return _without_reader()
    except OneirosError as error:
        talk(str(error))
        return error.exit_code
    except Exception:  # noqa: BLE001  the outermost loop: a bug must not pass for "nothing found"
        talk(_bug_sentence(environment))
        return EXIT_BUG


def _interrupted() -> int:
    talk("Interrupted. What was done is kept; the same command goes on from there.")
    return EXIT_INTERRUPTED


def _without_reader() -> int:
    """Lets what is still buffered go nowhere, since nobody reads it."""
    if sys.__stdout__ is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())
    return 0


def _bug_sentence(environment: Environment) -> str:
    """Where the traceback of the current error was written; the traceback itself where it could not be."""
    report = traceback.format_exc()
    try:
        log = environment.choice.root.error_log
        if log.parent.is_dir():
            replace_file(log, report)
            return f"oneiros failed unexpectedly. The traceback is in {log}; please report it."
    except (OneirosError, OSError):
        pass
    return f"oneiros failed unexpectedly. Please report this:\n{report}"
