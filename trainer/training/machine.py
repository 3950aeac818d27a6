"""What the machine can do, asked before anything is loaded: device, free memory, precision."""

import os
import platform
from dataclasses import dataclass
from typing import Literal

import psutil
import torch

from trainer.errors import Busy
from trainer.training.presets import Preset

Precision = Literal["bf16", "fp16", "fp32"]
BF16_CAPABILITY = (8, 0)  # below it torch emulates bf16 and still says that it is supported
GIB = 1 << 30
MAX_THREADS = 4  # small models gain nothing from more


@dataclass(frozen=True, slots=True)
class Machine:
    """The device that a run would use."""

    device: Literal["cuda", "cpu"]  # ROCm builds of torch call their cards cuda, too
    kind: Literal["CUDA", "ROCm", "CPU"]
    name: str
    total_gb: float
    free_gb: float
    precision: Precision


def this_machine(*, use_card: bool = True) -> Machine:
    """The first card where torch sees one and it is wanted, else the processor."""
    if not use_card or not torch.cuda.is_available():
        memory = psutil.virtual_memory()
        name = f"{platform.machine()}, {usable_cores()} cores"
        return Machine("cpu", "CPU", name, memory.total / GIB, memory.available / GIB, "fp32")
    free, total = torch.cuda.mem_get_info()
    precision: Precision = "bf16" if torch.cuda.get_device_capability() >= BF16_CAPABILITY else "fp16"
    kind: Literal["CUDA", "ROCm"] = "ROCm" if torch.version.hip else "CUDA"
    return Machine("cuda", kind, torch.cuda.get_device_name(), total / GIB, free / GIB, precision)


def check_room(machine: Machine, preset: Preset) -> None:
    """Raises Busy where the preset does not fit into what is free, and says what to do."""
    if machine.free_gb < preset.needs_gb:
        remedy = "Unload the served model (POST /inference/unload) or close other programs"
        if machine.kind != "CPU" and machine.total_gb < preset.needs_gb:
            remedy = "Choose a smaller --preset"
        raise Busy(
            f"{machine.name} has {machine.free_gb:.1f} GB free, the preset {preset.name} needs "
            f"{preset.needs_gb:.1f} GB",
            remedy=remedy,
        )


def default_threads(most: int = MAX_THREADS) -> int:
    """A thread for each usable core, within a bound."""
    return min(usable_cores(), most)


def usable_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
