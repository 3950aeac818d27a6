"""One training at a time on a machine, also after a crash.

The training process itself holds a lock of the operating system on `runs/training.lock`, which a kill frees. So a
service that died and came back still finds its training running, and a training that died never blocks the next one.
Beside the lock, `training.json` says which run it is.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from trainer.errors import Busy
from trainer.files import read_json, write_json

PROBE_SECONDS = 2.0  # `is_held` takes the lock for a moment; that must not turn a run away


class TrainingLock:
    """The lock of one folder of runs."""

    def __init__(self, runs: Path):
        self._file = runs / "training.lock"
        self._note = runs / "training.json"

    @contextmanager
    def hold(self, run: Path) -> Iterator[None]:
        """Hold the lock for a run. Raises Busy where another process holds it."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self._file)
        try:
            lock.acquire(timeout=PROBE_SECONDS)
        except Timeout as error:
            raise Busy(
                f"{self.last_run() or 'another run'} is training here",
                where=self._file,
                remedy="Wait for it or stop it (POST /stop)",
            ) from error
        try:
            write_json(self._note, {"run": str(run)})
            yield
        finally:
            lock.release()

    def is_held(self) -> bool:
        """Whether some process trains."""
        if not self._file.exists():
            return False
        lock = FileLock(self._file)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return True
        lock.release()
        return False

    def last_run(self) -> str | None:
        """The run that held the lock last, or holds it."""
        return str(read_json(self._note)["run"]) if self._note.exists() else None
