"""The models that a person turned on beside the one that makes vectors: a sparse, a late and a cross-encoder.

None is on by itself. What is off costs nothing: no file is made for it.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path

from memory_server.embedding.catalogue import Catalogue
from memory_server.embedding.engine import Engine, Vectors
from memory_server.embedding.model import ModelFiles, ModelKind
from memory_server.embedding.vector_cache import TextHash
from memory_server.embedding.workers import EmbeddingControl
from memory_server.errors import NeedsRepair
from memory_server.further import FurtherModels
from memory_server.index.build import Progress
from memory_server.index.snapshot import Snapshot
from memory_server.machine.files import remove_file
from memory_server.settings import PersonSettings
from parts.models.cross_engine import CrossEngine
from parts.models.late_engine import LateEngine
from parts.models.sparse import SparseIndex
from parts.models.sparse_engine import SparseEngine


@dataclass(frozen=True, slots=True)
class ChosenModels:
    """Which models are on beside the dense one."""

    late: ModelFiles | None = None
    sparse: ModelFiles | None = None
    cross: ModelFiles | None = None

    @classmethod
    def of_settings(cls, person: PersonSettings, catalogue: Catalogue) -> "ChosenModels":
        """The models that the settings name. Raises UsageError and NeedsRepair as `Catalogue.find` does."""

        def find_model(name: str, kind: ModelKind) -> ModelFiles | None:
            return catalogue.find(name, kind) if name else None

        return cls(
            find_model(person.late_model, ModelKind.LATE),
            find_model(person.sparse_model, ModelKind.SPARSE),
            find_model(person.rerank_model, ModelKind.CROSS),
        )

    def with_model(self, files: ModelFiles) -> "ChosenModels":
        """The same with another model of one kind; a dense one is none of them."""
        match files.card.kind:
            case ModelKind.DENSE:
                return self
            case ModelKind.LATE:
                return replace(self, late=files)
            case ModelKind.SPARSE:
                return replace(self, sparse=files)
            case ModelKind.CROSS:
                return replace(self, cross=files)


def choose_models(person: PersonSettings, catalogue: Catalogue, derived: Path) -> "ChosenFurtherModels":
    """What the settings name. Raises UsageError and NeedsRepair as `Catalogue.find` does."""
    chosen = ChosenModels.of_settings(person, catalogue)
    return ChosenFurtherModels(chosen, derived, has_torch=person.embedding_engine == "torch")


def make_torch_engine(files: ModelFiles) -> Engine:
    """The engine of the `torch` extra. Raises NeedsRepair where that is not installed."""
    try:
        from parts.models.torch_engine import TorchEngine  # noqa: PLC0415  an extra of a gigabyte
    except ModuleNotFoundError as error:
        raise NeedsRepair(
            "the torch engine is not installed",
            remedy="`pip install 'oneiros[torch]'`, or `oneiros config embedding_engine onnx`",
        ) from error
    return TorchEngine(files)


class ChosenFurtherModels(FurtherModels):
    """The models that are on, loaded when they are first asked for."""

    def __init__(self, chosen: ChosenModels, derived: Path, *, has_torch: bool = False):
        """`has_torch`: the dense model runs by the engine of the `torch` extra."""
        super().__init__(derived)
        self._has_torch = has_torch
        self.chosen = chosen
        self.identity = "".join(f"/{files.fingerprint}" for files in (chosen.late, chosen.sparse) if files)

    def with_late(self, dense: ModelFiles) -> ModelFiles:
        """See `FurtherModels`."""
        return replace(dense, late=self.chosen.late)

    def make_engine(self, make: Callable[[ModelFiles], Engine], files: ModelFiles) -> Engine:
        """See `FurtherModels`."""
        engine = make_torch_engine(files) if self._has_torch else make(files)
        return LateEngine(engine, files.late) if files.late and not isinstance(engine, LateEngine) else engine

    @cached_property
    def sparse(self) -> SparseIndex | None:
        """The weights of passages by the sparse model; None where none is on."""
        if (files := self.chosen.sparse) is None:
            return None
        engine = lru_cache(maxsize=1)(partial(SparseEngine, files))
        return SparseIndex(self.weights / f"{files.fingerprint}.db", engine)

    def weigh(
        self,
        texts: Callable[[], Mapping[TextHash, str]],
        control: EmbeddingControl,
        report_progress: Callable[[Progress], None],
    ) -> None:
        """See `FurtherModels`."""
        if self.sparse is not None:
            self.sparse.bring_level(texts(), control, report_progress)

    def make_scorer(self, ledger: Path) -> Callable[[Snapshot, str], Vectors] | None:
        """See `FurtherModels`."""
        if (sparse := self.sparse) is None:
            return None
        return lambda snapshot, text: sparse.scores(snapshot, ledger, text)

    def find_cross(self) -> Callable[[str, Sequence[str]], Vectors] | None:
        """See `FurtherModels`."""
        return self._cross

    @cached_property
    def _cross(self) -> Callable[[str, Sequence[str]], Vectors] | None:
        if (files := self.chosen.cross) is None:
            return None
        engine = lru_cache(maxsize=1)(partial(CrossEngine, files))
        return lambda question, passages: engine().scores(question, passages)

    def keep_alone(self, texts: Callable[[], Collection[TextHash]]) -> bool:
        """See `FurtherModels`."""
        in_use = f"{self.chosen.sparse.fingerprint}.db" if self.chosen.sparse else "none"
        for file in self.weights.glob("*"):
            if not file.name.startswith(in_use):
                remove_file(file)
        return self.sparse is None or self.sparse.keep_alone(texts())
