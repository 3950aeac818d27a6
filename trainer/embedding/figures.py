"""How well a model finds passages by their questions, among the passages of their set."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from trainer.embedding.batches import parts
from trainer.embedding.encoder import Encoder
from trainer.embedding.questions import Passage

FIRST = (1, 3, 10)
ROUNDS = 1_000  # of the bootstrap


@dataclass(frozen=True, slots=True)
class Found:
    """The place of each question's own passage, from 0, by the cosine of whole texts."""

    places: tuple[int, ...]

    def hit(self, first: int) -> float:
        """The share of questions whose passage is among the first."""
        return sum(place < first for place in self.places) / max(1, len(self.places))

    def above(self, other: "Found", first: int) -> tuple[float, float]:
        """The 95 % interval of how far this hit rate is above another one's, by bootstrap over pairs, seeded."""
        gains = torch.tensor(
            [float(a < first) - float(b < first) for a, b in zip(self.places, other.places, strict=True)]
        )
        drawn = torch.randint(len(gains), (ROUNDS, len(gains)), generator=torch.Generator().manual_seed(0))
        means = gains[drawn].mean(dim=1).sort().values
        return float(means[int(ROUNDS * 0.025)]), float(means[int(ROUNDS * 0.975)])


def ask(encoder: Encoder, passages: Sequence[Passage]) -> Found:
    """Every question of some passages, set by set."""
    of_set: dict[str, list[Passage]] = defaultdict(list)
    for passage in passages:
        of_set[passage.set].append(passage)
    places: list[int] = []
    with torch.no_grad():
        for held in of_set.values():
            read = encoder.read_passages([passage.embedded for passage in held])
            vectors = torch.cat(
                [encoder.encode([read[row] for row in part]).vectors for part in parts(range(len(read)))]
            )
            for row, passage in enumerate(held):
                if passage.questions:
                    cosines = encoder.encode(encoder.read_questions(passage.questions)).vectors @ vectors.T
                    places += (cosines > cosines[:, row : row + 1]).sum(dim=1).tolist()
    return Found(tuple(places))
