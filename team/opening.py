"""What a team's processes open: the model of all tenants, and the folder in which a tenant's memory is indexed."""

import datetime as dt
import os
from dataclasses import dataclass
from pathlib import Path

from memory_server.embedding.catalogue import Catalogue
from memory_server.embedding.in_use import ModelInUse
from memory_server.embedding.model import ModelFiles, ModelKind
from memory_server.embedding.onnx_engine import OnnxEngine
from memory_server.machine.process import prepare_process
from memory_server.memory import Memory
from memory_server.root.paths import MemoryRoot
from memory_server.settings import PersonSettings
from team.settings import TeamSettings


@dataclass(frozen=True)
class TeamCatalogue(Catalogue):
    """Finds the one model of all tenants, whatever the files of a repository name."""

    name: str = ""  # empty: the best at hand

    def find(self, name: str = "", kind: ModelKind = ModelKind.DENSE) -> ModelFiles:
        """See `Catalogue.find`."""
        return super().find(self.name if kind is ModelKind.DENSE else name, kind)


def catalogue(settings: TeamSettings) -> TeamCatalogue:
    """The models that an operator put on this machine: in the hub's cache, or in the folder `models`."""
    home = os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface"
    cache = Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub")
    return TeamCatalogue(cache, settings.folder / "models", name=settings.model)


def embedder(settings: TeamSettings) -> ModelInUse:
    """The model that questions are embedded with, loaded when it is first asked for."""
    prepare_process()
    return ModelInUse(catalogue(settings).find(""), OnnxEngine)


def work_memory(settings: TeamSettings, folder: Path) -> Memory:
    """The memory of files in a folder, which a tenant's rows are made of; what is derived lies in `.oneiros/` there.

    Of sessions, recorder, approvals and log a team's memory knows nothing.
    """
    prepare_process()
    root = MemoryRoot(folder.resolve(), folder.resolve() / ".oneiros" / "state")  # it goes with the folder
    return Memory(root, person=PersonSettings(), catalogue=catalogue(settings), now=lambda: dt.datetime.now(dt.UTC))
