"""QLoRA on a card: our trainer beside a plain loop, same weights, rows and micro-batch, in one run.

The model has the shape of Qwen2.5-1.5B with random weights; speed and memory do not depend on their values. Rows have
mixed lengths up to 1,024 tokens. Counted are tokens that are not padding. MFU is model FLOPs over the card's dense bf16
peak: 4 N a token for a frozen base (2 N forward, 2 N for gradients of activations; recomputing counts for nothing), N
without the input embedding.
"""

import random
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from peft import get_peft_model
from transformers import Qwen2Config, Qwen2ForCausalLM
from trl import SFTTrainer

from trainer.training.base_model import BaseFiles, load_model
from trainer.training.machine import GIB, Machine
from trainer.training.presets import PRESETS, Preset
from trainer.training.recipe import Plan, arguments, lora

PEAK_TFLOPS = {  # dense bf16, from the vendors' data sheets
    "H200": 989.0,
    "H100": 989.0,
    "A100": 312.0,
    "L40S": 362.0,
    "RTX 4090": 165.0,
    "RTX 3090": 71.0,
}
SHAPE = {  # Qwen2.5-1.5B
    "vocab_size": 151_936,
    "hidden_size": 1536,
    "intermediate_size": 8960,
    "num_hidden_layers": 28,
    "num_attention_heads": 12,
    "num_key_value_heads": 2,
}
SHORTEST, LONGEST = 64, 1024
WARM_UP_ROWS = 32


@dataclass(frozen=True, slots=True)
class Speed:
    """One way of training, measured."""

    tokens_per_s: float  # tokens that are not padding
    peak_gb: float


def measure_card(machine: Machine, tokenizer: Any, *, rows: int = 512, batch: int = 8) -> dict[str, float | None]:
    """Both ways on this card, as the benchmark prints them."""
    with tempfile.TemporaryDirectory() as folder:
        base = random_base(Path(folder), SHAPE)
        lengths = mixed_lengths(rows, LONGEST, seed=7)
        preset = replace(PRESETS["80gb"], batch=batch, accumulation=1, max_length=LONGEST, epochs=1, evaluations=0)
        ours = measure_ours(base, machine, tokenizer, lengths, preset, Path(folder))
        plain = measure_plain(base, machine, lengths, preset)
        weights = weights_used(SHAPE)
    peak = next((tflops for name, tflops in PEAK_TFLOPS.items() if name in machine.name), None)
    return {
        "tokens_per_s": round(ours.tokens_per_s, 1),
        "peak_gb": round(ours.peak_gb, 2),
        "mfu": None if peak is None else round(mfu(ours.tokens_per_s, weights, peak), 4),
        "plain_tokens_per_s": round(plain.tokens_per_s, 1),
    }


def mixed_lengths(rows: int, longest: int, *, seed: int) -> list[int]:
    """Row lengths, evenly spread between the shortest and the longest."""
    chance = random.Random(seed)  # noqa: S311  (has to repeat, not to be secret)
    return [chance.randint(min(SHORTEST, longest // 2), longest) for _ in range(rows)]


def make_row(length: int, vocabulary: int, chance: random.Random) -> dict[str, list[int]]:
    """A row of random tokens, the second half of which is learnt, as an answer would be."""
    ids = [chance.randrange(10, vocabulary) for _ in range(length)]
    return {"input_ids": ids, "labels": [-100] * (length // 2) + ids[length // 2 :]}


def rows_of_lengths(lengths: Sequence[int], vocabulary: int) -> list[dict[str, list[int]]]:
    """Rows of these lengths, the same ones every time."""
    chance = random.Random(11)  # noqa: S311  (as above)
    return [make_row(length, vocabulary, chance) for length in lengths]


def random_base(folder: Path, shape: dict[str, int]) -> BaseFiles:
    """A model of this shape with random weights on disk, where the quantising loader can read it."""
    torch.manual_seed(0)
    config = Qwen2Config(**shape, tie_word_embeddings=True, bos_token_id=None, eos_token_id=1, pad_token_id=0)
    Qwen2ForCausalLM(config).to(torch.bfloat16).save_pretrained(folder / "base")
    return BaseFiles("random", str(folder / "base"), "random")


def measure_ours(
    base: BaseFiles, machine: Machine, tokenizer: Any, lengths: Sequence[int], preset: Preset, folder: Path
) -> Speed:
    """One pass over the rows by the trainer's own recipe, after a short pass that warms the card up."""
    rows = rows_of_lengths(lengths, count_tokens(base))

    def one_pass(some: list[dict[str, list[int]]]) -> float:
        model = load_model(base, machine, quantised=True)
        settings = arguments(Plan(preset, save_steps=10**9), machine, folder / "out", evaluate=False)
        settings.save_strategy = "no"
        trainer = SFTTrainer(
            model=model,
            args=settings,
            train_dataset=Dataset.from_list(some),
            processing_class=tokenizer,
            peft_config=lora(preset),
        )
        begin_measuring(machine)
        began = time.perf_counter()
        trainer.train()
        synchronise(machine)
        return time.perf_counter() - began

    one_pass(rows[:WARM_UP_ROWS])
    seconds = one_pass(rows)
    return Speed(sum(lengths) / seconds, peak_gb(machine))


def measure_plain(base: BaseFiles, machine: Machine, lengths: Sequence[int], preset: Preset) -> Speed:
    """The same rows by a loop as anyone would write it: padded batches in the order they come, AdamW, sdpa."""
    rows = rows_of_lengths(lengths, count_tokens(base))
    model = get_peft_model(load_model(base, machine, quantised=True), lora(preset))
    model.train()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimiser = torch.optim.AdamW(trained, lr=preset.learning_rate)

    def one_pass(some: Sequence[dict[str, list[int]]]) -> float:
        begin_measuring(machine)
        began = time.perf_counter()
        for start in range(0, len(some), preset.batch):
            batch = pad_rows(some[start : start + preset.batch], machine.device)
            with torch.autocast(machine.device, dtype=torch.bfloat16, enabled=machine.device == "cuda"):
                loss = model(**batch).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(trained, 1.0)
            optimiser.step()
            optimiser.zero_grad()
        synchronise(machine)
        return time.perf_counter() - began

    one_pass(rows[:WARM_UP_ROWS])
    seconds = one_pass(rows)
    return Speed(sum(lengths) / seconds, peak_gb(machine))


def pad_rows(rows: Sequence[dict[str, list[int]]], device: str) -> dict[str, torch.Tensor]:
    """Rows as tensors of shape (rows, longest of them)."""
    longest = max(len(row["input_ids"]) for row in rows)

    def fill(values: list[int], blank: int) -> list[int]:
        return values + [blank] * (longest - len(values))

    return {
        "input_ids": torch.tensor([fill(row["input_ids"], 0) for row in rows], device=device),
        "labels": torch.tensor([fill(row["labels"], -100) for row in rows], device=device),
        "attention_mask": torch.tensor([fill([1] * len(row["input_ids"]), 0) for row in rows], device=device),
    }


def weights_used(shape: dict[str, int]) -> int:
    """Weights that multiply a token: all but the input embedding, whose second use as the output head counts."""
    hidden, inner = shape["hidden_size"], shape["intermediate_size"]
    keys = hidden // shape["num_attention_heads"] * shape["num_key_value_heads"]
    layer = 2 * hidden * hidden + 2 * hidden * keys + 3 * hidden * inner
    return shape["num_hidden_layers"] * layer + shape["vocab_size"] * hidden


def mfu(tokens_per_s: float, weights: int, peak_tflops: float) -> float:
    """The share, 0 to 1, of the card's peak that the model's own arithmetic takes."""
    return 4 * weights * tokens_per_s / (peak_tflops * 1e12)


def count_tokens(base: BaseFiles) -> int:
    """How many tokens the model knows."""
    return int(Qwen2Config.from_pretrained(base.folder).vocab_size)


def begin_measuring(machine: Machine) -> None:
    """Forget the peak so far."""
    if machine.device == "cuda":
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()


def synchronise(machine: Machine) -> None:
    """Wait for the card."""
    if machine.device == "cuda":
        torch.cuda.synchronize()


def peak_gb(machine: Machine) -> float:
    """The most memory that torch held since the measuring began; 0 on a processor."""
    return torch.cuda.max_memory_allocated() / GIB if machine.device == "cuda" else 0.0
