"""One training of an embedding model: from passages and questions to averaged weights.

The upper layers learn by two losses at once, over one vector a text and over one a token. What is kept is a moving mean
of the weights, taken every ten steps, and a part of the way back to the base where that is asked for (Wortsman et al.
2022).
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from trainer.embedding.batches import Batch, Teacher
from trainer.embedding.encoder import Encoder
from trainer.embedding.losses import Answers, dense_loss, late_loss

logger = logging.getLogger(__name__)

WARM_UP = 16  # steps in which the rate of learning rises
FALL = 0.9 / 144  # of the rate, in each step behind them
LEAST_RATE = 0.1  # of the rate
AVERAGED_EVERY = 10  # steps
NEWEST = 0.4  # of the moving mean is of the newest weights


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a model is taught."""

    steps: int = 40
    batch: int = 32  # passages; twice as many questions
    learning_rate: float = 1e-4
    late_share: float = 0.5  # of the loss; the rest is of the vectors of whole texts
    kept: float = 1.0  # how far from the base (0) to what was learnt (1) the weights are
    seed: int = 7


def teach(
    encoder: Encoder,
    teacher: Teacher,
    recipe: Recipe,
    watch: Callable[[], None] = lambda: None,
) -> Mapping[str, Tensor]:
    """Changes the encoder's weights and returns those that were learnt, before they are moved to the base.

    `watch` is called after each step.
    """
    rarity = teacher.rarity.to(encoder.bert.device)
    learnt = {name: weight for name, weight in encoder.named_parameters() if weight.requires_grad}
    base = {name: weight.detach().clone() for name, weight in learnt.items()}
    means: dict[str, Tensor] = {}
    optimizer = torch.optim.AdamW(learnt.values(), lr=recipe.learning_rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, _rate)
    for step, batch in enumerate(teacher.batches(recipe.steps, size=recipe.batch, seed=recipe.seed), start=1):
        loss = _loss(encoder, teacher, batch, rarity, recipe.late_share)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learnt.values(), 1.0)
        optimizer.step()
        schedule.step()
        watch()
        if step % AVERAGED_EVERY == 0 or not means:
            share = NEWEST if step > AVERAGED_EVERY else 1.0
            means = {name: weight.detach().lerp(means.get(name, weight), 1 - share) for name, weight in learnt.items()}
            logger.info("step %d of %d, loss %.3f", step, recipe.steps, float(loss.detach()))
    move(encoder, base, means, recipe.kept)
    return means


def move(encoder: Encoder, base: Mapping[str, Tensor], learnt: Mapping[str, Tensor], kept: float) -> None:
    """Gives the encoder weights on the way from the base (kept 0) to what was learnt (kept 1)."""
    with torch.no_grad():
        for name, weight in encoder.named_parameters():
            if name in learnt:
                weight.copy_(base[name].lerp(learnt[name], kept))


def _loss(encoder: Encoder, teacher: Teacher, batch: Batch, rarity: Tensor, late_share: float) -> Tensor:
    device = encoder.bert.device
    answers = Answers(batch.answers.right.to(device), batch.answers.ignored.to(device))
    passages = encoder.encode([teacher.passages[place] for place in batch.passages])
    questions = encoder.encode([teacher.questions[place][which] for place, which in batch.questions])
    with encoder.precision():
        late = late_loss(questions, passages, rarity, answers)
    return (1 - late_share) * dense_loss(questions, passages, answers) + late_share * late


def _rate(step: int) -> float:
    """Rises over the first steps, then falls by as much in each, however many there are."""
    return min((step + 1) / WARM_UP, max(LEAST_RATE, 1.0 - FALL * (step - WARM_UP)))
