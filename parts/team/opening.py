"""What a team's processes open: the model of all tenants, and the folder in which a tenant's memory is indexed."""

import datetime as dt
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from memory_server.embedding.catalogue import Catalogue
from memory_server.embedding.engine import CACHED_QUESTIONS, Embedded, Engine, ModelInUse
from memory_server.embedding.model import ModelFiles, ModelKind
from memory_server.embedding.onnx_engine import OnnxEngine
from memory_server.machine.process import prepare_process
from memory_server.memory import Memory
from memory_server.root.paths import MemoryRoot
from memory_server.settings import PersonSettings
from parts.team.settings import TeamSettings


@dataclass(frozen=True)
class TeamCatalogue(Catalogue):
    """Finds the one model of all tenants, whatever the files of a repository name."""

    name: str = ""  # empty: the best at hand

    def find(self, name: str = "", kind: ModelKind = ModelKind.DENSE) -> ModelFiles:
        """See `Catalogue.find`."""
        return super().find(self.name if kind is ModelKind.DENSE else name, kind)


_ENGINES: dict[str, "SharedEngine"] = {}  # by fingerprint of the model


class SharedEngine:
    """A loaded model that all tenants share while they are indexed: closing one memory leaves it to the others, and the
    questions that every index asks of itself are embedded once.
    """

    def __init__(self, engine: Engine):
        self._engine = engine
        self._embed_question = lru_cache(maxsize=CACHED_QUESTIONS)(lambda text: engine.embed([text], as_query=True)[0])

    @property
    def dimensions(self) -> int:
        return self._engine.dimensions

    def embed(self, texts: Sequence[str], *, as_query: bool = False) -> list[Embedded]:
        return [*map(self._embed_question, texts)] if as_query else self._engine.embed(texts)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._engine.count_tokens(texts)

    def rest(self) -> None:
        self._engine.rest()

    def close(self) -> None:
        """Stays open for the next memory."""


def load_engine(files: ModelFiles) -> SharedEngine:
    """The engine of a model, loaded once in a process."""
    if files.fingerprint not in _ENGINES:
        _ENGINES[files.fingerprint] = SharedEngine(OnnxEngine(files))
    return _ENGINES[files.fingerprint]


def catalogue(settings: TeamSettings) -> TeamCatalogue:
    """The models that an operator put on this machine: in the hub's cache, or in the folder `models`."""
    home = os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface"
    cache = Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub")
    return TeamCatalogue(cache, settings.folder / "models", name=settings.model)


def embedder(settings: TeamSettings) -> ModelInUse:
    """The model that questions are embedded with, loaded when it is first asked for.

    No question is remembered: how long one takes must not tell what another team has asked.
    """
    prepare_process()
    return ModelInUse(catalogue(settings).find(""), OnnxEngine)


def work_memory(settings: TeamSettings, folder: Path) -> Memory:
    """The memory of files in a folder, which a tenant's rows are made of; what is derived lies in `.oneiros/` there.

    Of sessions, recorder, approvals and log a team's memory knows nothing.
    """
    prepare_process()
    root = MemoryRoot(folder.resolve(), folder.resolve() / ".oneiros" / "state")  # it goes with the folder
    return Memory(
        root,
        person=PersonSettings(),
        catalogue=catalogue(settings),
        now=lambda: dt.datetime.now(dt.UTC),
        make_engine=load_engine,
    )
