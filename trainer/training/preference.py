"""`prefer`: direct preference optimisation on approved against rejected wording (Rafailov et al. 2023, eq. 7).

It continues an adapter that `train` made. The reference is the same model with the adapter as it was, which the trainer
keeps as a second, frozen copy of the adapter alone. Worth it from some hundreds of pairs on; optional.
"""

import shutil
from pathlib import Path
from typing import Any

from datasets import Dataset
from peft import PeftModel
from transformers import set_seed
from trl import DPOConfig, DPOTrainer

from trainer.errors import DataError
from trainer.files import read_json_lines
from trainer.training.adapter import fingerprint
from trainer.training.base_model import find_base, load_model, load_tokenizer
from trainer.training.fit import parse_plan
from trainer.training.lock import TrainingLock
from trainer.training.machine import check_room, this_machine
from trainer.training.recipe import settle
from trainer.training.run_folder import RunFolder

BETA = 0.1  # the paper's value for dialogue
LEARNING_RATE = 5e-5  # well below that of `train`: wording moves, facts should not
KEYS = {"prompt", "chosen", "rejected"}


def read_preferences(path: Path) -> list[dict[str, Any]]:
    """The rows of a preference file. Raises DataError with file and line where one is not a preference."""
    rows = []
    for line, row in read_json_lines(path):
        if set(row) != KEYS or not all(isinstance(row[key], list) and row[key] for key in KEYS):
            raise DataError("prompt, chosen and rejected messages are expected", where=path, line=line)
        rows.append(row)
    if not rows:
        raise DataError("there is no preference here", where=path, remedy="Export memory that holds rejected wordings")
    return rows


def prefer(run: RunFolder, preferences: Path, lock: TrainingLock, *, max_steps: int = 0) -> dict[str, Any]:
    """Continue the run's adapter on preferences; the run must be evaluated again afterwards. Returns its figures."""
    rows = read_preferences(preferences)
    record = run.read()
    plan = parse_plan(record)
    with lock.hold(run.path):
        machine = this_machine(use_card=record["use_card"])
        check_room(machine, plan.preset)
        base = find_base(record["base"], Path(record["cache"]))
        set_seed(plan.seed)
        model = load_model(base, machine, quantised=plan.preset.quantised and machine.device == "cuda")
        tuned = PeftModel.from_pretrained(model, str(run.adapter), is_trainable=True)
        on_card = machine.device == "cuda"
        trainer = DPOTrainer(
            model=tuned,
            args=DPOConfig(
                output_dir=str(run.path / "preference"),
                beta=BETA,
                learning_rate=LEARNING_RATE,
                per_device_train_batch_size=min(plan.preset.batch, 2),  # each row is two sequences
                num_train_epochs=1,
                max_steps=max_steps or -1,
                max_length=plan.preset.max_length,
                gradient_checkpointing=plan.preset.recompute,
                bf16=on_card and machine.precision == "bf16",
                fp16=on_card and machine.precision == "fp16",
                use_cpu=not on_card,
                save_strategy="no",
                logging_steps=1,
                report_to="none",
                disable_tqdm=True,
                seed=plan.seed,
            ),
            train_dataset=Dataset.from_list(rows),
            processing_class=load_tokenizer(base),
        )
        settle(trainer, machine)
        trainer.train()
        replace_adapter(run, trainer)
        losses = [float(entry["loss"]) for entry in trainer.state.log_history if "loss" in entry]
        figures = {"rows": len(rows), "steps": trainer.state.global_step, "first": losses[0], "last": losses[-1]}
        run.update(preference=figures, adapter_sha256=fingerprint(run.adapter))
    return figures


def replace_adapter(run: RunFolder, trainer: Any) -> None:
    """Put the trained adapter in place of the run's, once it is whole.

    The temperature goes with the old one, to which it was fitted.
    """
    made = run.path / "preference"
    trainer.save_model(str(made))
    shutil.rmtree(made / "ref")  # the frozen reference, which the trainer saves as well
    shutil.rmtree(run.adapter)
    made.rename(run.adapter)
