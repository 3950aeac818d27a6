"""What fits where: one preset a size of memory."""

from dataclasses import dataclass, replace

from trainer.errors import UsageError


@dataclass(frozen=True, slots=True)
class Preset:
    """How a run uses a machine and how hard it trains."""

    name: str
    needs_gb: float  # free memory below which the run does not start
    batch: int  # rows at once
    accumulation: int  # batches a step
    max_length: int  # tokens; a longer row is refused, never cut
    quantised: bool  # NF4 with double quantisation, on a card only
    recompute: bool  # gradient checkpointing: a third more time for far less memory
    pack: bool  # several rows in one, or rows of like length together where attention cannot keep rows apart
    evaluations: int  # during training; 0 on small cards, where evaluating runs out of memory first
    optimiser: str
    learning_rate: float
    epochs: int
    rank: int
    dropout: float


DEFAULT_BASE = "Qwen/Qwen2.5-1.5B-Instruct"
DEFAULT_REVISION = "989aa7980e4cf806f80c7fef2b1adb7bc71aa306"
PACKAGED = "smollm2-135m"  # comes in a package, for machines that reach no hub

CARD = Preset(
    name="16gb",
    needs_gb=10.0,
    batch=4,
    accumulation=4,
    max_length=1024,
    quantised=True,
    recompute=True,
    pack=True,
    evaluations=4,
    optimiser="paged_adamw_8bit",
    learning_rate=2e-4,  # QLoRA's own choice below 13 B parameters (Dettmers et al. 2023, table 9)
    epochs=3,
    rank=16,
    dropout=0.05,
)
SMALL_CARD = replace(CARD, name="6gb", needs_gb=4.5, batch=1, accumulation=8, max_length=512, evaluations=0)
LARGE_CARD = replace(
    CARD,
    name="80gb",
    needs_gb=40.0,
    batch=16,
    accumulation=1,
    max_length=2048,
    recompute=False,
    evaluations=8,
    optimiser="adamw_torch_fused",
    rank=32,
)
PROCESSOR = Preset(
    name="cpu",
    needs_gb=3.0,
    batch=6,
    accumulation=1,
    max_length=512,
    quantised=False,
    recompute=False,
    pack=False,
    evaluations=2,
    optimiser="adamw_torch",
    learning_rate=8e-4,
    epochs=10,
    rank=16,
    dropout=0.1,
)
PRESETS = {preset.name: preset for preset in (PROCESSOR, SMALL_CARD, CARD, LARGE_CARD)}


def choose_preset(total_gb: float | None) -> Preset:
    """The largest preset that a card of this size carries; None stands for no card."""
    if total_gb is None:
        return PROCESSOR
    if total_gb >= 75:
        return LARGE_CARD
    return CARD if total_gb >= 14 else SMALL_CARD


def find_preset(name: str) -> Preset:
    """The preset of that name. Raises UsageError where there is none."""
    if name not in PRESETS:
        raise UsageError(f"there is no preset {name!r}", remedy=f"Use one of {', '.join(PRESETS)}")
    return PRESETS[name]
