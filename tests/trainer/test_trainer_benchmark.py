"""The benchmark's own arithmetic, and both ways of training on a model small enough for a processor."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.trainer_gpu import (
    SHAPE,
    measure_ours,
    measure_plain,
    mfu,
    mixed_lengths,
    pad_rows,
    random_base,
    rows_of_lengths,
    weights_used,
)
from trainer.training.base_model import find_base, load_tokenizer
from trainer.training.machine import this_machine
from trainer.training.presets import PRESETS

pytestmark = [
    pytest.mark.trainer,
    # Deprecations inside transformers, TRL and torch that concern their authors; ours stay errors.
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning"),
]

TINY = {
    "vocab_size": 300,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}


def test_the_weights_of_the_shape_are_those_of_the_model() -> None:
    assert weights_used(SHAPE) == pytest.approx(1.54e9, rel=0.01)


def test_mfu_is_the_models_arithmetic_over_the_peak() -> None:
    assert mfu(tokens_per_s=1_000.0, weights=1_000_000_000, peak_tflops=40.0) == pytest.approx(0.1)


def test_rows_are_mixed_repeatable_and_half_learnt() -> None:
    lengths = mixed_lengths(200, 1024, seed=7)

    assert lengths == mixed_lengths(200, 1024, seed=7)
    assert min(lengths) < 128
    assert 960 < max(lengths) <= 1024
    row = rows_of_lengths([10], 300)[0]
    assert row["labels"] == [-100] * 5 + row["input_ids"][5:]


def test_padding_is_neither_read_nor_learnt() -> None:
    batch = pad_rows(rows_of_lengths([4, 6], 300), "cpu")

    assert batch["attention_mask"].tolist() == [[1, 1, 1, 1, 0, 0], [1] * 6]
    assert batch["labels"][0].tolist()[4:] == [-100, -100]


def test_both_ways_train_the_same_rows(tiny_base: Path, tmp_path: Path) -> None:
    base = random_base(tmp_path, TINY)
    machine = this_machine(use_card=False)
    preset = replace(PRESETS["80gb"], batch=4, max_length=64, epochs=1, evaluations=0, rank=4)
    lengths = mixed_lengths(16, 64, seed=7)

    ours = measure_ours(base, machine, load_tokenizer(find_base(str(tiny_base), tmp_path)), lengths, preset, tmp_path)
    plain = measure_plain(base, machine, lengths, preset)

    assert ours.tokens_per_s > 0
    assert plain.tokens_per_s > 0
