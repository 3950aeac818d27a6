"""What an embedding engine is: text in, one vector a text and one vector a token out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Vectors: TypeAlias = NDArray[np.float32]
Made = TypeVar("Made")
MadeOut = TypeVar("MadeOut", covariant=True)


@dataclass(frozen=True, slots=True)
class Embedded:
    """One text as vectors."""

    vector: Vectors  # (d,), unit length
    tokens: Vectors  # (t, d), unit rows: the word pieces in order, without the model's own marks
    spans: tuple[tuple[int, int], ...]  # t places in the text, first and behind the last character


class Maker(Protocol[MadeOut]):
    """What workers run: something made of each text. `embed` may be called from several threads at once."""

    def embed(self, texts: Sequence[str]) -> Sequence[MadeOut]: ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]: ...

    def rest(self) -> None: ...


class Engine(Protocol):
    """Runs a model. `embed` may be called from several threads at once."""

    @property
    def dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str], *, as_query: bool = False) -> list[Embedded]:
        """The texts as vectors, in their order; `as_query` puts the model's query prefix before each, in the
        place of that of passages."""
        ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """How many tokens of each text the model would read."""
        ...

    def rest(self) -> None:
        """Gives back the memory that large batches took; called when a run of them is over."""
        ...

    def close(self) -> None: ...
