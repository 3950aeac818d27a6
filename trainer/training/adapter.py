"""The adapter on its own: its fingerprint, how it is put on a base, and how sure of itself it leaves the model."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from peft import PeftModel
from safetensors.torch import load_file

from trainer.files import read_json, write_json

WEIGHTS = "adapter_model.safetensors"
CALIBRATION = "calibration.json"  # {"temperature": ...}, see `calibration.py`


def fingerprint(folder: Path) -> str:
    """SHA-256 over the names, shapes, types and bytes of an adapter's tensors, in the order of their names.

    The temperature counts too, where there is one.
    """
    hasher = hashlib.sha256()
    for name, tensor in sorted(load_file(folder / WEIGHTS).items()):
        hasher.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        hasher.update(tensor.contiguous().flatten().view(torch.uint8).numpy().tobytes())
    if (temperature := read_temperature(folder)) != 1.0:
        hasher.update(f"temperature {temperature}".encode())
    return hasher.hexdigest()


def attach_adapter(model: Any, folder: Path) -> Any:
    """The base with its adapter, calibrated. Raises what PEFT raises where the two do not fit."""
    tuned = PeftModel.from_pretrained(model, str(folder))
    scale_scores(tuned, read_temperature(folder))
    return tuned


def read_temperature(folder: Path) -> float:
    """The temperature that an adapter was calibrated to; 1 where it was not."""
    file = folder / CALIBRATION
    return float(read_json(file)["temperature"]) if file.exists() else 1.0


def calibrate(folder: Path, temperature: float) -> None:
    """Note an adapter's temperature."""
    write_json(folder / CALIBRATION, {"temperature": temperature})


@contextmanager
def as_base(model: Any) -> Iterator[None]:
    """The model without its adapter and its temperature."""
    norm = last_norm(model)
    calibrated = norm.weight.data
    norm.weight.data = getattr(norm, "as_trained", calibrated)
    try:
        with model.disable_adapter():
            yield
    finally:
        norm.weight.data = calibrated


def scale_scores(model: Any, temperature: float) -> None:
    """Divide all scores by the temperature: they are linear in the weight of the norm before them."""
    norm = last_norm(model)
    norm.as_trained = norm.weight.data
    norm.weight.data = (norm.as_trained.float() / temperature).to(norm.as_trained.dtype)


def last_norm(model: Any) -> Any:
    """The norm between the layers and the scores, as all models of the Llama and Qwen families have it."""
    return model.get_base_model().model.norm
