"""The adapter on its own: its fingerprint, and how much of it is kept.

Tuned on few pairs, a model becomes sure of itself on everything, also on what it was not taught. Scaling the whole
adapter down moves the model back along the straight line to its base; what was taught stays the likeliest answer for
long, while the loss on other text falls (Wortsman et al. 2022, "Robust fine-tuning of zero-shot models", section 3).
"""

import hashlib
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

WEIGHTS = "adapter_model.safetensors"


def fingerprint(folder: Path) -> str:
    """SHA-256 over the names, shapes, types and bytes of an adapter's tensors, in the order of their names."""
    digest = hashlib.sha256()
    for name, tensor in sorted(load_file(folder / WEIGHTS).items()):
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def soften(folder: Path, share: float) -> None:
    """Scale an adapter to a share, 0 to 1, of its effect; it is linear in its B matrices."""
    if share == 1.0:
        return
    tensors = load_file(folder / WEIGHTS)
    scaled = {name: tensor * share if ".lora_B." in name else tensor for name, tensor in tensors.items()}
    save_file(scaled, folder / WEIGHTS, metadata={"format": "pt"})
