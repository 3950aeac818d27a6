"""What is minimised: how far each question is from its own passage among the passages of a batch."""

from dataclasses import dataclass

import torch
from torch import Tensor

from trainer.embedding.encoder import Encoded

SCALE = 20.0  # 1 / temperature, of cosines, as all-MiniLM-L6-v2 itself was trained


@dataclass(frozen=True, slots=True)
class Answers:
    """Which passage of a batch answers which question, and which ones must not count against it."""

    right: Tensor  # (q,), the place of a passage
    ignored: Tensor  # (q, p), bool: nearly the same text as the right one


def dense_loss(questions: Encoded, passages: Encoded, answers: Answers) -> Tensor:
    """InfoNCE over one vector a text (van den Oord, Li and Vinyals 2018, eq. 4)."""
    return contrast(questions.vectors @ passages.vectors.T, answers)


def late_loss(questions: Encoded, passages: Encoded, rarity: Tensor, answers: Answers) -> Tensor:
    """InfoNCE over late interaction, by which the program reranks.

    `rarity` (vocabulary,) weighs the tokens of a question; they are compared with the words of a passage alone.
    """
    q, t, d = questions.tokens.shape
    p, s, _ = passages.tokens.shape
    cosines = (questions.tokens.reshape(q * t, d) @ passages.tokens.reshape(p * s, d).T).reshape(q, t, p, s)
    best = cosines.masked_fill(~passages.words[None, None], -1.0).amax(dim=-1)  # (q, t, p)
    weights = rarity[questions.ids] * questions.words
    weights = weights / weights.sum(dim=1, keepdim=True).clamp_min(1e-9)
    return contrast((best * weights[:, :, None]).sum(dim=1), answers)


def contrast(scores: Tensor, answers: Answers) -> Tensor:
    """The cross-entropy of the right passages; scores (q, p) are cosines."""
    scaled = (SCALE * scores).masked_fill(answers.ignored, float("-inf"))
    return torch.nn.functional.cross_entropy(scaled, answers.right)
