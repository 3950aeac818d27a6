"""What an embedding engine is: text in, one vector a text and one vector a token out; and the one that is in use."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from memory_server.embedding.model import ModelFiles
from memory_server.language.languages import reads_text

CACHED_QUESTIONS = 128  # questions of 20 KB: 64 probes, and the own passages that each of two indices asks for

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


class ModelInUse:
    """A model's files with the engine that runs them, which is loaded when it is first asked for and exchanged in one
    step. Safe to share between threads.
    """

    def __init__(self, files: ModelFiles, make: Callable[[ModelFiles], Engine]):
        """`make` loads a model, which takes seconds."""
        self.files = files
        self.make = make
        self._guard = threading.RLock()
        self._engine: Engine | None = None
        self.embed_again = lru_cache(maxsize=CACHED_QUESTIONS)(self.embed_query)  # what every index run asks anew

    def engine(self) -> Engine:
        with self._guard:
            if self._engine is None:
                self._engine = self.make(self.files)
            return self._engine

    def embed_query(self, text: str) -> Embedded:
        """A question as vectors, on the calling thread."""
        return self.engine().embed([text], as_query=True)[0]

    def reads(self, text: str) -> bool:
        """Whether the model was taught the language of a text."""
        return reads_text(self.files.card.languages, self.engine().count_tokens, text)

    def exchange(self, files: ModelFiles, engine: Engine) -> Engine | None:
        """Uses another model from here on; returns the old engine, to be closed when nobody asks it any more."""
        with self._guard:
            old, self._engine, self.files = self._engine, engine, files
            self.embed_again.cache_clear()
        return old

    def close(self) -> None:
        with self._guard:
            if self._engine is not None:
                self._engine.close()
            self._engine = None
