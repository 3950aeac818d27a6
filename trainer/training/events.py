"""A run's own event file: what the trainer knows, one JSON object a line, so that nobody has to read progress bars.

    {"event": "begin", "time": ..., "step": 0, "total": 200}
    {"event": "log", "time": ..., "step": 10, "loss": 1.93, "learning_rate": 0.0003, "accuracy": 0.61, ...}
    {"event": "evaluation", "time": ..., "step": 50, "loss": 2.7}
    {"event": "save", "time": ..., "step": 50, "path": "checkpoints/checkpoint-50"}
    {"event": "end", "time": ..., "step": 200}

A resumed run drops what was written after its checkpoint, so that a step stands in the file once. `state.json` beside
it is the heartbeat: the state, the process and the last step.
"""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import psutil

from trainer.files import json_line, read_json, write_json, write_text

State = Literal["preparing", "running", "stopped", "finished", "failed", "killed"]
ACTIVE: frozenset[State] = frozenset({"preparing", "running"})
NAMES = {  # the trainer's names for what it logs, and ours
    "loss": "loss",
    "eval_loss": "loss",
    "learning_rate": "learning_rate",
    "mean_token_accuracy": "accuracy",
    "eval_mean_token_accuracy": "accuracy",
    "grad_norm": "gradient_norm",
    "num_tokens": "tokens",
    "epoch": "epoch",
}


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The state file of a run."""

    state: State
    pid: int
    process_started: float  # with the pid it names one process, though pids are used again
    step: int = 0
    total: int = 0
    time: float = 0.0  # seconds since 1970, when this was written
    error: str = ""


class EventFile:
    """Appends events and keeps the heartbeat of one run."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time):
        self.path = folder / "events.jsonl"
        self.state_path = folder / "state.json"
        self._clock = clock
        process = psutil.Process()
        self._beat = Heartbeat("preparing", process.pid, process.create_time())

    def write(self, event: str, step: int, **values: object) -> None:
        """Append one event."""
        row = {"event": event, "time": round(self._clock(), 3), "step": step, **values}
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json_line(row))

    def beat(self, state: State, *, step: int | None = None, total: int | None = None, error: str = "") -> None:
        """Write the heartbeat; a step or total that is not given stays as it was."""
        self._beat = replace(
            self._beat,
            state=state,
            step=self._beat.step if step is None else step,
            total=self._beat.total if total is None else total,
            time=self._clock(),
            error=error,
        )
        write_json(self.state_path, asdict(self._beat))

    def rewind(self, step: int) -> None:
        """Drop every event after this step, and the torn line that a kill may have left."""
        rows = [row for row in read_events(self.path) if row["step"] <= step and row["event"] != "end"]
        write_text(self.path, "".join(json_line(row) for row in rows))


def read_events(path: Path) -> Iterator[dict[str, Any]]:
    """The events of a file that may be growing; a torn last line is left for the next look."""
    if not path.exists():
        return
    for line in path.read_bytes().split(b"\n"):
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(row, dict) and "event" in row and "step" in row:
            yield row


def read_heartbeat(folder: Path) -> Heartbeat | None:
    """The state of a run as it is true now: a run whose process is gone without a word was killed."""
    path = folder / "state.json"
    if not path.exists():
        return None
    beat = Heartbeat(**read_json(path))
    if beat.state in ACTIVE and not is_alive(beat.pid, beat.process_started):
        return replace(
            beat, state="killed", error="the training process ended without a word; it was killed from outside"
        )
    return beat


def is_alive(pid: int, started: float) -> bool:
    """Whether this very process still runs; a zombie does not."""
    try:
        process = psutil.Process(pid)
        return bool(abs(process.create_time() - started) < 1.0 and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def rename_metrics(values: dict[str, Any]) -> dict[str, float]:
    """The trainer's metrics under our names; what we have no name for is left out."""
    return {NAMES[key]: float(value) for key, value in values.items() if key in NAMES}
