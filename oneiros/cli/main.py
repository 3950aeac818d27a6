"""The console script: what runs before the first import of weight, so that `--version` and an early ^C cost nothing."""

import gc
import sys

from oneiros.cli.early import EXIT_INTERRUPTED, print_version

TYPE_CHECKING = False  # as in typing, whose import costs as much as an empty Python
if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneiros.environment import Environment


def run() -> None:
    """The console script."""
    gc.set_threshold(50_000)  # objects, of some 60,000 that imports make: of those nothing is garbage
    try:
        code = print_version() if sys.argv[1:] == ["--version"] else main(sys.argv[1:])
    except KeyboardInterrupt:
        print("Interrupted before anything was done.", file=sys.stderr)
        code = EXIT_INTERRUPTED
    sys.exit(code)


def main(arguments: "Sequence[str]", environment: "Environment | None" = None) -> int:
    """Runs one command line, in the environment of this process where no other is given; its exit code."""
    from oneiros.cli.app import run_app

    return run_app(arguments, environment)
