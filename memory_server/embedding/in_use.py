"""The embedding model that a memory uses, loaded when it is first asked for, and exchanged for another in one step."""

import threading
from collections.abc import Callable
from functools import lru_cache

from memory_server.embedding.engine import Embedded, Engine
from memory_server.embedding.model import ModelFiles
from memory_server.language.languages import reads_text

CACHED_QUESTIONS = 128  # questions of 20 KB: 64 probes, and the own passages that each of two indices asks for


class ModelInUse:
    """A model's files with the engine that runs them. Safe to share between threads."""

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
