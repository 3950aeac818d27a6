"""Starts, stops and describes the one training run of a machine.

The run is a process of its own with its own lock, folder and state file. This object only spawns it, reads those files
and sends signals, so a service that is started anew finds a run under way and describes it all the same.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from trainer.errors import Busy, UsageError
from trainer.pairs import read_pairs
from trainer.serving.foreign_log import read_progress
from trainer.serving.gauges import Gauge
from trainer.serving.names import check_base, check_run
from trainer.serving.settings import Settings
from trainer.training.events import ACTIVE, Heartbeat, read_events, read_heartbeat
from trainer.training.lock import TrainingLock
from trainer.training.presets import choose_preset, find_preset
from trainer.training.run_folder import RunFolder, next_run

HISTORY = 500  # points of the loss curve that are sent; more of them are thinned out
REAP_SECONDS = 5.0  # a killed process with many threads is gone some time before its exit code can be had


@dataclass(frozen=True, slots=True)
class Start:
    """What `/start` asks for; files are names below the service's data folder."""

    training: str = ""
    validation: str = ""
    calibration: str = ""
    base: str = ""
    run: str = ""
    preset: str = ""
    epochs: int = 0
    max_steps: int = 0
    seed: int = 7
    resume: bool = False


class TrainingJobs:
    """The training runs below one folder."""

    def __init__(self, settings: Settings):
        self._settings = settings
        self._lock = TrainingLock(settings.runs)
        self._turn = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._run: Path | None = None
        self._stopping = False

    def start(self, wanted: Start, devices: Sequence[Gauge], loaded: str | None) -> dict[str, Any]:
        """Spawn a run and return its status.

        Raises Busy where one is under way or the device is too full (naming the loaded model), UsageError and
        DataError for what cannot be trained.
        """
        with self._turn:
            if self.is_training():
                raise Busy(f"{self._lock.last_run() or 'a run'} is training", remedy="Wait, or POST /stop")
            command, run = self._command(wanted)
            self._check_room(wanted, devices, loaded)
            run.path.mkdir(parents=True, exist_ok=True)
            with run.log.open("ab") as log:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,  # a signal to the service's group must not reach the run
                    env=os.environ | {"ONEIROS_TRAINER_HOME": str(self._settings.home)},
                )
            self._run = run.path
            self._stopping = False
        return self.status(None)

    def stop(self) -> dict[str, Any]:
        """Ask the run to end with a checkpoint. Raises Busy where none is under way."""
        with self._turn:
            pid = self._pid()
            if pid is None:
                raise Busy("no run is under way", remedy="See GET /status")
            self._stopping = True
            with suppress(ProcessLookupError):  # it may end by itself in this very moment
                os.kill(pid, signal.SIGTERM)
        return self.status(None)

    def end(self) -> None:
        """Stop the run under way, where there is one, and wait for its checkpoint."""
        pid = self._pid()
        if pid is None:
            return
        with suppress(Busy, psutil.NoSuchProcess):  # it may end by itself in this very moment
            self.stop()
            psutil.Process(pid).wait()

    def is_training(self) -> bool:
        """Whether a run is under way here, whoever started it."""
        return (self._process is not None and self._process.poll() is None) or self._lock.is_held()

    def status(self, name: str | None) -> dict[str, Any]:
        """Progress, figures and the loss curve of a run; of the newest where none is named."""
        folder = self._folder(name) if name else self._newest()
        if folder is None:
            return {"state": "idle", "run": None}
        run = RunFolder(folder)
        beat = read_heartbeat(folder)
        if beat is None or (self._is_ours(folder) and not self._has_reported(beat)):
            return self._status_of_silent(run)
        events = list(read_events(run.events))
        curve = [(row["step"], row["loss"]) for row in events if row["event"] == "log"]
        checks = [(row["step"], row["loss"]) for row in events if row["event"] == "evaluation"]
        last: dict[str, Any] = next((row for row in reversed(events) if row["event"] == "log"), {})
        per_step = last.get("seconds_per_step", 0.0)
        return {
            "state": beat.state,
            "run": folder.name,
            "pid": beat.pid if beat.state in ACTIVE else None,
            "step": beat.step,
            "total": beat.total,
            "progress": round(beat.step / beat.total, 4) if beat.total else 0.0,
            "seconds_left": round(per_step * (beat.total - beat.step)) if beat.state in ACTIVE else 0,
            "heartbeat": beat.time,
            "error": self._reason(beat, folder),
            "metrics": {key: value for key, value in last.items() if key not in {"event", "time", "step"}},
            "loss_history": thin_points(curve),
            "validation_history": thin_points(checks),
        }

    def log_tail(self, name: str | None, offset: int | None, max_bytes: int) -> dict[str, Any]:
        """A piece of a run's log from a byte offset, or its end; `next` is where to go on.

        Of a run that the command line began, whose libraries print there, it is a piece of its events.
        """
        folder = self._folder(name) if name else self._newest()
        run = RunFolder(folder) if folder else None
        log = next((file for file in (run.log, run.events) if file.exists()), None) if run else None
        if log is None:
            return {"text": "", "next": 0}
        size = log.stat().st_size
        start = max(size - max_bytes, 0) if offset is None else min(offset, size)
        with log.open("rb") as stream:
            stream.seek(start)
            content = stream.read(max_bytes)
        return {"text": content.decode("utf-8", "replace"), "next": start + len(content)}

    def _command(self, wanted: Start) -> tuple[list[str], RunFolder]:
        command = [sys.executable, "-m", "trainer", "train", "--threads", str(self._settings.threads)]
        if not self._settings.use_card:
            command.append("--cpu")
        run = RunFolder(self._folder(wanted.run) if wanted.run else next_run(self._settings.runs))
        if wanted.resume:
            run.read()
            return [*command, "--resume", "--run", str(run.path)], run
        if run.record.exists():
            raise UsageError(f"the run {run.path.name} exists", remedy="Resume it, or choose another name")
        training = self._data(wanted.training)
        read_pairs(training)
        command += [str(training), "--run", str(run.path), "--seed", str(wanted.seed)]
        for option, name in (("--validation", wanted.validation), ("--calibration", wanted.calibration)):
            if name:
                file = self._data(name)
                read_pairs(file)
                command += [option, str(file)]
        command += ["--download"] if self._settings.allow_download else []
        if wanted.base:
            check_base(wanted.base, self._settings.cache)
        if wanted.preset:
            command += ["--preset", find_preset(wanted.preset).name]
        for option, value in (("--base", wanted.base), ("--epochs", wanted.epochs), ("--max-steps", wanted.max_steps)):
            command += [option, str(value)] if value else []
        return command, run

    def _check_room(self, wanted: Start, devices: Sequence[Gauge], loaded: str | None) -> None:
        cards = [device for device in devices if device.kind != "cpu"] if self._settings.use_card else []
        device = next(iter(cards or devices), None)
        if device is None:
            return
        preset = (
            find_preset(wanted.preset) if wanted.preset else choose_preset(device.memory_total_gb if cards else None)
        )
        if device.free_gb < preset.needs_gb:
            remedy = f"Unload {loaded} first (POST /inference/unload)" if loaded else "Close what fills it"
            raise Busy(
                f"{device.name} has {device.free_gb:.1f} GB free, the preset {preset.name} needs {preset.needs_gb:.1f}",
                remedy=remedy,
            )

    def _status_of_silent(self, run: RunFolder) -> dict[str, Any]:
        """The status of a run that has not written a state file: it is starting, it failed, or it is not ours."""
        code = self._process.poll() if self._process is not None and self._run == run.path else None
        if self._run == run.path and self._process is not None and code is None:
            return {"state": "preparing", "run": run.path.name, "pid": self._process.pid, "error": ""}
        if code == -signal.SIGTERM and self._stopping:  # before the run had begun, so there is nothing to keep
            return {"state": "stopped", "run": run.path.name, "error": ""}
        if code is not None:
            return {"state": "failed", "run": run.path.name, "error": self._last_words(run, code)}
        foreign = read_progress(run.log)
        if foreign is None:
            return {"state": "unknown", "run": run.path.name, "error": "this run keeps no state file"}
        return {
            "state": "foreign",
            "run": run.path.name,
            "step": foreign.step,
            "total": foreign.total,
            "progress": round(foreign.step / foreign.total, 4) if foreign.total else 0.0,
            "metrics": foreign.figures,
            "error": "",
        }

    def _reason(self, beat: Heartbeat, folder: Path) -> str:
        if beat.state == "killed" and self._run == folder and self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                code = self._process.wait(timeout=REAP_SECONDS)
                if code < 0:
                    return f"the training process was killed from outside by {signal.Signals(-code).name}"
        return beat.error

    def _last_words(self, run: RunFolder, code: int) -> str:
        lines = self.log_tail(run.path.name, None, 2_000)["text"].strip().splitlines()
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return f"the training process ended with {how}: {lines[-1] if lines else 'it said nothing'}"

    def _has_reported(self, beat: Heartbeat) -> bool:
        """Whether the state file is from the process that was started last, not from the run it resumes."""
        return self._process is None or beat.pid == self._process.pid or is_child(beat.pid, self._process.pid)

    def _is_ours(self, folder: Path) -> bool:
        return self._process is not None and self._run == folder

    def _pid(self) -> int | None:
        if self._process is not None and self._process.poll() is None:
            return self._process.pid
        last = self._lock.last_run()
        beat = read_heartbeat(Path(last)) if last and self._lock.is_held() else None
        return beat.pid if beat is not None and beat.state in ACTIVE else None

    def _newest(self) -> Path | None:
        if self._run is not None:
            return self._run
        last = self._lock.last_run()
        if last and Path(last).is_dir():
            return Path(last)
        runs = [path for path in self._settings.runs.glob("*") if path.is_dir()]
        return max(runs, key=lambda path: path.stat().st_mtime, default=None)

    def _folder(self, name: str) -> Path:
        check_run(name)
        return self._settings.runs / name

    def _data(self, name: str) -> Path:
        folder = (self._settings.home / "data").resolve()
        path = (folder / name).resolve()
        if not name or not path.is_relative_to(folder) or not path.is_file():
            raise UsageError(f"there is no data file {name!r}", remedy=f"Put it below {folder}")
        return path


def thin_points(points: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """At most `HISTORY` points, the last one always among them."""
    step = max(-(-len(points) // HISTORY), 1)
    thinned = list(points[::step])
    return thinned if not points or thinned[-1] == points[-1] else [*thinned, points[-1]]


def is_child(pid: int, parent: int) -> bool:
    """Whether the process was spawned by the other; a launcher may stand between the two."""
    try:
        return bool(psutil.Process(pid).ppid() == parent)
    except psutil.Error:
        return False
