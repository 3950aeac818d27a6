"""What was learnt of differences between statements: a weight for each figure, and how they make a probability.

The weights are data, written by `python -m benchmarks.contradictions --write`; the file names what they were made of.
No library of machine learning is needed to use them.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

FILE = Path(__file__).with_name("weights.json")
Sort: TypeAlias = Literal["value", "denial"]  # of a difference


class Linear(msgspec.Struct, frozen=True):
    """A logistic regression, shifted so that one half is where a difference counts as a contradiction."""

    bias: float
    of: Mapping[str, float]  # by the figure's name

    def probability(self, features: Mapping[str, float]) -> float:
        """0 to 1."""
        return 1 / (1 + math.exp(-self.bias - sum(weight * features[name] for name, weight in self.of.items())))


class Weights(msgspec.Struct, frozen=True):
    """The weights of each sort of difference."""

    made_of: Mapping[str, str]  # command, data, date
    value: Linear
    denial: Linear

    def score(self, sort: Sort, features: Mapping[str, float]) -> float:
        """How likely a difference is a contradiction, 0 to 1."""
        return (self.value if sort == "value" else self.denial).probability(features)


PACKAGED = msgspec.json.decode(FILE.read_bytes(), type=Weights)
