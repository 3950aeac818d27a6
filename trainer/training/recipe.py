"""Builds TRL's trainer from a plan: LoRA everywhere, loss on answers, cosine schedule, seeds."""

import importlib.util
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from peft import LoraConfig
from transformers import PrinterCallback, TrainerCallback
from trl import SFTConfig, SFTTrainer

from trainer.pairs import Pair
from trainer.training.machine import Machine
from trainer.training.masking import make_rows
from trainer.training.presets import Preset

WARMUP_SHARE = 0.03  # of all steps
MAX_GRADIENT = 1.0
SAVED_CHECKPOINTS = 2  # the newest may be torn by a kill; the one before it is whole


@dataclass(frozen=True, slots=True)
class Plan:
    """All that decides the outcome of a run, given model and data."""

    preset: Preset
    seed: int = 7
    save_steps: int = 25
    max_steps: int = 0  # 0 = by the preset's epochs

    def total_steps(self, rows: int) -> int:
        """Optimiser steps of the whole run, where every row is its own."""
        per_epoch = math.ceil(rows / (self.preset.batch * self.preset.accumulation))
        return self.max_steps or per_epoch * self.preset.epochs


def lora(preset: Preset) -> Any:
    """LoRA on all linear layers with alpha = 2 r, as QLoRA found to be needed (Dettmers et al. 2023, figure 2)."""
    return LoraConfig(
        r=preset.rank,
        lora_alpha=2 * preset.rank,
        lora_dropout=preset.dropout,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )


def packs(preset: Preset) -> bool:
    """Whether rows share a sequence.

    Flash attention keeps packed rows apart for nothing. Without it a mask does, at a cost that grows with the square
    of the packed length of a whole batch; worth it for a batch of one, else rows of like length go together instead.
    """
    return preset.pack and (preset.batch == 1 or importlib.util.find_spec("flash_attn") is not None)


def arguments(plan: Plan, machine: Machine, folder: Path, *, evaluate: bool) -> Any:
    """TRL's settings for a plan on a machine."""
    return SFTConfig(output_dir=str(folder), **build_settings(plan, machine, evaluate=evaluate))


def build_settings(plan: Plan, machine: Machine, *, evaluate: bool) -> dict[str, Any]:
    """The settings by name. What is the trainer's default is not repeated, unless it would hurt on this machine."""
    preset = plan.preset
    on_card = machine.device == "cuda"
    evaluations = preset.evaluations if evaluate else 0
    return {
        "per_device_train_batch_size": preset.batch,
        "per_device_eval_batch_size": 1 if preset.batch == 1 else 8,
        "gradient_accumulation_steps": preset.accumulation,
        "num_train_epochs": preset.epochs,
        "max_steps": plan.max_steps or -1,
        "learning_rate": preset.learning_rate,
        "lr_scheduler_type": "cosine",
        "warmup_steps": WARMUP_SHARE,
        "max_grad_norm": MAX_GRADIENT,
        "optim": preset.optimiser if on_card else "adamw_torch",  # paging needs a card's unified memory
        "max_length": preset.max_length,
        "packing": packs(preset),
        "train_sampling_strategy": "group_by_length" if preset.pack and not packs(preset) else "random",
        "bf16": on_card and machine.precision == "bf16",
        "fp16": on_card and machine.precision == "fp16",
        "use_cpu": not on_card,
        "gradient_checkpointing": preset.recompute,
        "logging_steps": 1,  # a mean over several steps would differ after a resume in between
        "eval_strategy": "steps" if evaluations else "no",
        "eval_steps": 1 / evaluations if evaluations else None,  # below one it is a share of the run
        "save_steps": plan.save_steps,
        "save_total_limit": SAVED_CHECKPOINTS,
        "seed": plan.seed,
        "data_seed": plan.seed,
        "report_to": "none",
        "disable_tqdm": True,
        "dataloader_pin_memory": on_card,
    }


def build_trainer(
    model: Any,
    tokenizer: Any,
    training: list[Pair],
    validation: list[Pair],
    plan: Plan,
    machine: Machine,
    folder: Path,
    callbacks: list[TrainerCallback],
) -> Any:
    """The trainer, ready to train."""
    trainer = SFTTrainer(
        model=model,
        args=arguments(plan, machine, folder, evaluate=bool(validation)),
        train_dataset=Dataset.from_list(make_rows(training)),
        eval_dataset=Dataset.from_list(make_rows(validation)) if validation else None,
        processing_class=tokenizer,
        peft_config=lora(plan.preset),
        callbacks=callbacks,
    )
    settle(trainer, machine)
    return trainer


def settle(trainer: Any, machine: Machine) -> None:
    """Mend what TRL's trainers do by themselves: they print figures to stdout, which is for data, and turn the adapters
    of a quantised base into bf16, which the gradient scaler of fp16 cannot handle."""
    trainer.remove_callback(PrinterCallback)
    if machine.precision == "fp16":
        for parameter in trainer.model.parameters():
            if parameter.requires_grad:
                parameter.data = parameter.data.to(torch.float32)
