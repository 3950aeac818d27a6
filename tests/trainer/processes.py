"""The trainer's commands as processes of their own, forked from one that has imported the libraries.

To import them takes twelve seconds of a processor. That they start from nothing is seen in `test_packaged_model.py`
and `test_nothing_leaves.py`, and wherever the service starts a training.
"""

import multiprocessing
import os
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from trainer.cli.main import run

# In this order: the first settles what the libraries read while they are imported.
IMPORTED = ["trainer.__main__", "trainer.training.fit", "trainer.serving.app", "uvicorn", __name__]


def start_trainer(arguments: Sequence[str], log: Path, variables: Mapping[str, str]) -> ForkServerProcess:
    """`python -m trainer ARGUMENTS` with further variables; what it says is added to the log."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(IMPORTED)
    process = context.Process(target=run_trainer, args=(arguments, log, variables))
    process.start()
    return process


def run_trainer(arguments: Sequence[str], log: Path, variables: Mapping[str, str]) -> None:
    os.environ.update(variables)
    with log.open("ab") as stream:
        for descriptor in (1, 2):
            os.dup2(stream.fileno(), descriptor)
    sys.argv = ["trainer", *arguments]
    run()
