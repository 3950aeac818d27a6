"""The models that a person turned on beside the one that makes vectors: a sparse, a late and a cross-encoder.

None is on by itself. What is off costs nothing: not a module of it is imported, and no file is made.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from memory_server.embedding.catalogue import Catalogue
from memory_server.embedding.engine import Engine, Vectors
from memory_server.embedding.model import ModelFiles, ModelKind
from memory_server.index.snapshot import Snapshot
from memory_server.machine.files import remove_file
from memory_server.settings import PersonSettings

if TYPE_CHECKING:
    from memory_server.index.sparse import SparseIndex


@dataclass(frozen=True, slots=True)
class ChosenModels:
    """Which models are on: the dense one with the late one that makes its token vectors, and what finds beside them."""

    dense: ModelFiles
    sparse: ModelFiles | None = None
    cross: ModelFiles | None = None

    @classmethod
    def of_settings(cls, dense: str, person: PersonSettings, catalogue: Catalogue) -> "ChosenModels":
        """The models that the settings name. Raises UsageError and NeedsRepair as `Catalogue.find` does."""

        def find_model(name: str, kind: ModelKind) -> ModelFiles | None:
            return catalogue.find(name, kind) if name else None

        late = find_model(person.late_model, ModelKind.LATE)
        chosen = replace(catalogue.find(dense), late=late)
        return cls(
            chosen, find_model(person.sparse_model, ModelKind.SPARSE), find_model(person.rerank_model, ModelKind.CROSS)
        )

    def with_model(self, files: ModelFiles) -> "ChosenModels":
        """The same with another model of one kind."""
        match files.card.kind:
            case ModelKind.DENSE:
                return replace(self, dense=replace(files, late=self.dense.late))
            case ModelKind.LATE:
                return replace(self, dense=replace(self.dense, late=files))
            case ModelKind.SPARSE:
                return replace(self, sparse=files)
            case ModelKind.CROSS:
                return replace(self, cross=files)


def with_late(make: Callable[[ModelFiles], Engine]) -> Callable[[ModelFiles], Engine]:
    """Makes engines as `make` does, and puts a late model's token vectors in where the files name one."""

    def make_engine(files: ModelFiles) -> Engine:
        engine = make(files)
        if files.late is None:
            return engine
        from memory_server.embedding.late_engine import LateEngine  # noqa: PLC0415  only where it is on

        return LateEngine(engine, files.late)

    return make_engine


class FurtherModels:
    """The sparse model and the cross-encoder that are on, loaded when they are first asked for."""

    def __init__(self, chosen: ChosenModels, derived: Path):
        self._chosen = chosen
        self._derived = derived

    @property
    def identity(self) -> str:
        """Differs whenever the scales of an index do; empty where nothing is on."""
        late, sparse = self._chosen.dense.late, self._chosen.sparse
        return "".join(f"/{files.fingerprint}" for files in (late, sparse) if files)

    @cached_property
    def sparse(self) -> "SparseIndex | None":
        """The weights of passages by the sparse model; None where none is on."""
        if (files := self._chosen.sparse) is None:
            return None
        from memory_server.embedding.sparse_engine import SparseEngine  # noqa: PLC0415  only where it is on
        from memory_server.index.sparse import SparseIndex  # noqa: PLC0415

        engine = lru_cache(maxsize=1)(partial(SparseEngine, files))
        return SparseIndex(self._derived / "terms" / f"{files.fingerprint}.db", engine)

    def remove_others(self) -> None:
        """Deletes the weights by models that are not on."""
        in_use = f"{self._chosen.sparse.fingerprint}.db" if self._chosen.sparse else "none"
        for file in (self._derived / "terms").glob("*"):
            if not file.name.startswith(in_use):
                remove_file(file)

    def make_scorer(self, ledger: Path) -> Callable[[Snapshot, str], Vectors] | None:
        """What the sparse model scores for all passages of a ledger; None where none is on."""
        if (sparse := self.sparse) is None:
            return None
        return lambda snapshot, text: sparse.scores(snapshot, ledger, text)

    @cached_property
    def cross(self) -> Callable[[str, Sequence[str]], Vectors] | None:
        """What the cross-encoder says of a question and some passages; None where none is on."""
        if (files := self._chosen.cross) is None:
            return None
        from memory_server.embedding.cross_engine import CrossEngine  # noqa: PLC0415  only where it is on

        engine = lru_cache(maxsize=1)(partial(CrossEngine, files))
        return lambda question, passages: engine().scores(question, passages)
