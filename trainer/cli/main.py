"""Puts the commands together and maps every error to its exit code."""

import logging
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import typer

from trainer.cli import data, models, service
from trainer.errors import TrainerError

HELP = """Fine-tune a small model on approved memory, serve it, watch it.

The stages, in order: extract, generate or memory, split, train, evaluate, serve.
"""


def build() -> typer.Typer:
    """The command line with all its commands."""
    app = typer.Typer(help=HELP, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
    commands: tuple[Callable[..., None], ...] = (
        data.extract,
        data.generate,
        data.memory,
        data.split,
        models.train,
        models.evaluate,
        models.prefer,
        models.merge,
        models.export,
        models.laptop,
        service.serve,
    )
    for command in commands:
        app.command()(command)
    return app


def run() -> None:
    """Run the command line; a foreseen error is one sentence on stderr, a bug one sentence and the place of its log."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(message)s")
    for noisy in ("httpx", "httpx2", "httpcore2", "datasets", "transformers", "filelock", "bitsandbytes"):
        logging.getLogger(noisy).setLevel(logging.ERROR)
    try:
        build()()
    except TrainerError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(error.exit_code)
    except ModuleNotFoundError as error:
        sys.stderr.write(f"{error.name} is missing. Install the trainer's libraries: pip install 'oneiros[trainer]'\n")
        sys.exit(3)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except Exception as error:  # noqa: BLE001  (the outermost frame: a bug must not pass for "nothing found")
        log = data.home() / "error.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(traceback.format_exc(), encoding="utf-8")
        sys.stderr.write(f"{type(error).__name__}: {error}. This is a bug; its traceback is in {Path(log)}\n")
        sys.exit(3)
