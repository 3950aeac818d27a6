"""How sure of itself a tuned model is: one temperature, fitted on pairs that were neither taught nor held out.

Few pairs learnt by heart make a model sure of itself on everything, also on what it was never taught. Dividing its
scores by one number mends that and leaves the likeliest answer as it is (Guo et al. 2017, "On Calibration of Modern
Neural Networks", section 4.2). The number becomes part of the adapter: the model's last norm is scaled by it, so that
every way of using the model has it, also a merged one.
"""

from collections.abc import Sequence
from typing import Any

from trainer.evaluation.answers import mean_losses
from trainer.pairs import Pair

TEMPERATURES = tuple(round(0.5 * 1.02**step, 4) for step in range(106))  # 0.5 to 4, each 2 % above the one before


def fit_temperature(model: Any, tokenizer: Any, pairs: Sequence[Pair]) -> float:
    """The temperature at which the model's loss on the answers is least."""
    losses = mean_losses(model, tokenizer, pairs, TEMPERATURES)
    return TEMPERATURES[losses.index(min(losses))]
