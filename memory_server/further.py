"""What answers beside the dense model, where a person turned it on: a sparse, a late and a cross-encoder.

A part brings those models. Without it, and where none is on, the dense model is alone, and `FurtherModels` is as it
stands here: nothing of them is loaded, and no file is made.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from memory_server.embedding.engine import Embedded, Engine, Vectors
from memory_server.embedding.model import ModelFiles
from memory_server.embedding.vector_cache import TextHash
from memory_server.embedding.workers import EmbeddingControl
from memory_server.index.build import Progress
from memory_server.index.snapshot import Snapshot
from memory_server.machine.files import remove_file
from memory_server.search.retrieval import Searched


class FurtherModels:
    """The models that are on beside the dense one: none of them."""

    identity = ""  # differs whenever the scales of an index do

    def __init__(self, derived: Path):
        self.weights = derived / "terms"  # what sparse models made of passages, a file a model

    def with_late(self, dense: ModelFiles) -> ModelFiles:
        """A dense model's files with those of the late model that makes its token vectors."""
        return dense

    def make_engine(self, make: Callable[[ModelFiles], Engine], files: ModelFiles) -> Engine:
        """The engine of a dense model, and of its late one."""
        return make(files)

    def weigh(
        self,
        texts: Callable[[], Mapping[TextHash, str]],
        control: EmbeddingControl,
        report_progress: Callable[[Progress], None],
    ) -> None:
        """Weighs passages by the sparse model, as far as they are not weighed yet."""

    def make_scorer(self, ledger: Path) -> Callable[[Snapshot, str], Vectors] | None:  # noqa: ARG002  what a part asks
        """What the sparse model scores for all passages of a ledger; None where none is on."""
        return None

    def find_cross(self) -> Callable[[str, Sequence[str]], Vectors] | None:
        """What the cross-encoder says of a question and some passages; None where none is on."""
        return None

    def keep_alone(self, texts: Callable[[], Collection[TextHash]]) -> bool:  # noqa: ARG002  what a part asks
        """Deletes the weights of all but these texts, and whatever models made that are not on; whether not a byte of
        them is left.
        """
        for file in self.weights.glob("*"):
            remove_file(file)
        return True


class TrialIndex(Searched, Protocol):
    """The passages of an index with the vectors of another model."""

    @property
    def file(self) -> Path:
        """Of the ledger."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What answers with another model, beside the indices in use; a part opens it."""

    embed_query: Callable[[str], Embedded]
    indices: TrialIndex
    stretches: TrialIndex | None
    further: FurtherModels
