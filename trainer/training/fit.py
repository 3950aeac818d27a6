"""`train`: one run from pairs to an adapter, in a process of its own.

The process owns the training lock, its run folder and its signals. A run that ended early, by SIGTERM or by kill -9,
is continued from its last whole checkpoint with the same data order, random states and schedule; on a CPU with the
same number of threads and the same build of torch the adapter comes out bit for bit the same.
"""

import importlib.metadata
import logging
import platform
import subprocess
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import set_seed

from trainer.errors import DataError, TrainerError, UsageError
from trainer.files import write_json
from trainer.pairs import Pair, read_pairs
from trainer.training.adapter import calibrate, fingerprint, read_temperature
from trainer.training.base_model import BaseFiles, find_base, load_model, load_tokenizer
from trainer.training.calibration import fit_temperature
from trainer.training.callbacks import RunCallback, StopFlag
from trainer.training.events import EventFile, rename_metrics
from trainer.training.lock import TrainingLock
from trainer.training.machine import Machine, check_room, this_machine
from trainer.training.masking import check_labels, fitting
from trainer.training.presets import Preset
from trainer.training.recipe import Plan, build_trainer
from trainer.training.run_folder import RunFolder

logger = logging.getLogger(__name__)

VERSIONED = ("torch", "transformers", "trl", "peft", "datasets", "bitsandbytes", "numpy")
MIN_PAIRS = 8  # fewer are a mistake of the stage before, and would be learnt by heart in a minute


@dataclass(frozen=True, slots=True)
class Request:
    """What a person asks of a run; all of it stands in `run.json`."""

    run: Path
    training: Path
    validation: Path | None
    base: str
    cache: Path  # where packaged models are unpacked
    plan: Plan
    calibration: Path | None = None  # pairs of further sources, on which the temperature is fitted
    threads: int = 1
    use_card: bool = True
    download: bool = False


def begin(request: Request) -> RunFolder:
    """Make the run's folder with frozen data and its record. Raises UsageError where the folder is taken."""
    run = RunFolder(request.run)
    if run.record.exists():
        raise UsageError("this run exists", where=run.path, remedy="Add --resume, or name another --run")
    read_pairs(request.training, minimum=MIN_PAIRS)
    if request.validation is not None:
        read_pairs(request.validation)
    if request.calibration is not None:
        read_pairs(request.calibration)
    hashes = run.freeze_data(request.training, request.validation, request.calibration)
    write_json(
        run.record,
        {
            "base": request.base,
            "cache": str(request.cache),
            "plan": asdict(request.plan),
            "threads": request.threads,
            "use_card": request.use_card,
            "download": request.download,
            "data": hashes,
            "revision": revision(),
            "versions": versions(),
        },
    )
    return run


def train(run: RunFolder, lock: TrainingLock, stop: StopFlag) -> dict[str, Any]:
    """Train, or continue, the run in this folder; returns its record.

    Raises Busy when another run holds the lock or the machine has no room, DataError when the data changed or a row
    is not what it should be. Whatever is raised is also left in the run's state file. A run that came to its end stays
    as it is.
    """
    with lock.hold(run.path):
        events = EventFile(run.path)
        events.beat("preparing")
        try:
            ended = _train(run, events, stop)
        except TrainerError as error:
            events.beat("failed", error=str(error))
            raise
        except BaseException as error:
            events.beat("failed", error=f"{type(error).__name__}: {error}")
            raise
        events.beat("finished" if ended else "stopped")
    return run.read()


def _train(run: RunFolder, events: EventFile, stop: StopFlag) -> bool:
    """Whether the run came to its end, now or before; a signal stops it earlier, with a checkpoint."""
    record = run.read()
    run.check_unchanged()
    if "adapter_sha256" in record:
        return True
    torch.set_num_threads(record["threads"])
    plan = parse_plan(record)
    machine = this_machine(use_card=record["use_card"])
    check_room(machine, plan.preset)
    base = find_base(record["base"], Path(record["cache"]), download=record["download"])
    if record.setdefault("base_identity", base.identity) != base.identity:
        raise DataError("the base model changed since this run began", where=run.record, remedy="Begin a new run")
    run.update(base_identity=base.identity, machine=machine_row(machine))

    training, validation = read_data(run)
    began = time.monotonic()
    trainer, too_long = prepare_trainer(
        base, training, validation, plan, machine, run, [RunCallback(run, events, stop)]
    )
    resumed = run.last_checkpoint()
    events.rewind(resumed[1] if resumed else 0)
    trainer.train(resume_from_checkpoint=str(resumed[0]) if resumed else None)
    if trainer.state.global_step < trainer.state.max_steps:
        return False
    trainer.save_model(str(run.adapter))
    if run.calibration_data.exists():
        model, tokenizer = trainer.model.eval(), load_tokenizer(base)
        calibrate(run.adapter, fit_temperature(model, tokenizer, read_pairs(run.calibration_data)))
    run.update(
        temperature=read_temperature(run.adapter),
        steps=trainer.state.global_step,
        minutes=round((time.monotonic() - began) / 60, 2),
        rows_too_long=too_long,
        metrics=last_metrics(trainer.state.log_history),
        adapter_sha256=fingerprint(run.adapter),
    )
    return True


def prepare_trainer(
    base: BaseFiles,
    training: Iterable[Pair],
    validation: Iterable[Pair],
    plan: Plan,
    machine: Machine,
    run: RunFolder,
    callbacks: list[Any],
) -> tuple[Any, int]:
    """The trainer with its labels proved, and the number of rows that were too long."""
    tokenizer = load_tokenizer(base)
    fitting_pairs, too_long = fitting(list(training), tokenizer, plan.preset.max_length)
    held, _ = fitting(list(validation), tokenizer, plan.preset.max_length) if validation else ([], 0)
    set_seed(plan.seed)
    model = load_model(base, machine, quantised=plan.preset.quantised and machine.device == "cuda")
    trainer = build_trainer(model, tokenizer, fitting_pairs, held, plan, machine, run.checkpoints, callbacks)
    check_labels(trainer.train_dataset, fitting_pairs, tokenizer)
    return trainer, too_long


def read_data(run: RunFolder) -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
    """The run's frozen training and validation pairs."""
    validation = read_pairs(run.validation_data) if run.validation_data.exists() else ()
    return read_pairs(run.training_data, minimum=MIN_PAIRS), validation


def parse_plan(record: dict[str, Any]) -> Plan:
    """The plan that a run's record holds."""
    values = dict(record["plan"])
    return Plan(preset=Preset(**values.pop("preset")), **values)


def machine_row(machine: Machine) -> dict[str, object]:
    """The machine as it stands in a run's record."""
    return asdict(machine) | {"system": platform.platform(), "python": platform.python_version()}


def last_metrics(history: Iterable[dict[str, Any]]) -> dict[str, float]:
    """The last figures of training and of validation, under our names."""
    found: dict[str, float] = {}
    for entry in history:
        kind = "validation_" if "eval_loss" in entry else ""
        if "loss" in entry or kind:
            found |= {f"{kind}{name}": value for name, value in rename_metrics(entry).items()}
    return found


def revision() -> str:
    """The version of this code, with its commit where it runs from a checkout."""
    version = importlib.metadata.version("oneiros")
    here = Path(__file__).parent
    command = ["git", "-C", str(here), "rev-parse", "--short=12", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return version
    return f"{version}+{done.stdout.strip()}" if done.returncode == 0 else version


def versions() -> dict[str, str]:
    """The versions that decide a run's outcome."""
    found = {}
    for name in VERSIONED:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found
