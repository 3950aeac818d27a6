"""The folder of one run, readable by a person:

runs/<name>/
  run.json          flags, preset, base, versions, machine, hashes of the data, figures at the end
  data/             the pairs as they were when the run began
  events.jsonl      what happened, see `events.py`
  state.json        heartbeat
  checkpoints/      checkpoint-<step>/, each with `complete.json` once it is whole
  adapter/          the result
  evaluation.json   scores of base, tuned model and retrieval
  log.txt           whatever the libraries print
"""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer.errors import DataError, UsageError
from trainer.files import hash_file, read_json, write_json


def next_run(runs: Path) -> Path:
    """The first free name below the folder of runs: run-1, run-2, ..."""
    number = 1
    while (runs / f"run-{number}").exists():
        number += 1
    return runs / f"run-{number}"


def newest_adapter(runs: Path) -> str:
    """The run whose adapter was written last. Raises UsageError where no run has one."""
    found = [folder for folder in runs.glob("*") if (folder / "adapter").is_dir()]
    if not found:
        raise UsageError(f"no run below {runs} has an adapter", remedy="Train one: `python -m trainer train`")
    return max(found, key=lambda folder: (folder / "adapter").stat().st_mtime).name


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Where a run keeps its things."""

    path: Path

    @property
    def record(self) -> Path:
        return self.path / "run.json"

    @property
    def training_data(self) -> Path:
        return self.path / "data" / "train.jsonl"

    @property
    def validation_data(self) -> Path:
        return self.path / "data" / "validation.jsonl"

    @property
    def calibration_data(self) -> Path:
        return self.path / "data" / "calibration.jsonl"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def adapter(self) -> Path:
        return self.path / "adapter"

    @property
    def evaluation(self) -> Path:
        return self.path / "evaluation.json"

    @property
    def events(self) -> Path:
        return self.path / "events.jsonl"

    @property
    def log(self) -> Path:
        return self.path / "log.txt"

    def freeze_data(self, training: Path, validation: Path | None, calibration: Path | None = None) -> dict[str, str]:
        """Copy the data in, so that a resumed run reads the same bytes; returns their hashes by name."""
        self.training_data.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(training, self.training_data)
        if validation is not None:
            shutil.copyfile(validation, self.validation_data)
        if calibration is not None:
            shutil.copyfile(calibration, self.calibration_data)
        return self.data_hashes()

    def data_hashes(self) -> dict[str, str]:
        """SHA-256 of each data file of the run."""
        return {file.name: hash_file(file) for file in sorted(self.training_data.parent.glob("*.jsonl"))}

    def check_unchanged(self) -> None:
        """Raises DataError where the data is not what the run began with."""
        if self.data_hashes() != self.read()["data"]:
            raise DataError(
                "the data changed since this run began, so its curve cannot be continued",
                where=self.training_data,
                remedy="Begin a new run",
            )

    def read(self) -> dict[str, Any]:
        """The run's record. Raises UsageError where there is none."""
        if not self.record.exists():
            raise UsageError("this folder holds no run", where=self.path, remedy="Name a folder that `train` wrote")
        return read_json(self.record)

    def update(self, **values: object) -> None:
        """Add to the run's record."""
        write_json(self.record, self.read() | values)

    def mark_complete(self, step: int) -> Path:
        """Confirm that the checkpoint of this step is whole."""
        folder = self.checkpoints / f"checkpoint-{step}"
        write_json(folder / "complete.json", {"step": step})
        return folder

    def last_checkpoint(self) -> tuple[Path, int] | None:
        """The newest whole checkpoint and its step; torn ones, left by a kill, are removed."""
        found = []
        for folder in self.checkpoints.glob("checkpoint-*"):
            if (folder / "complete.json").exists():
                found.append((folder, int(folder.name.rpartition("-")[2])))
            else:
                shutil.rmtree(folder)
        return max(found, key=lambda item: item[1], default=None)
